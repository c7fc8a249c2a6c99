-- The moment at which ages are measured.
SELECT
       :as_of::timestamptz --? as_of
       now() --? !as_of
