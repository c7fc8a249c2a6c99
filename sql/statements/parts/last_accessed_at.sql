-- The last access; NULL if there was none up to an explicit as_of.
SELECT
       CASE WHEN memory_usage.last_accessed_at <= :as_of::timestamptz
            THEN memory_usage.last_accessed_at END --? as_of
       memory_usage.last_accessed_at --? !as_of
