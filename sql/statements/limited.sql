-- The memories before which fewer than so many of their session, subject or day come. A session is
-- that of its owner. A memory that has none is not limited.
SELECT one.*
  FROM (SELECT unlimited.*
             , CASE WHEN unlimited.its_session IS NULL THEN 1
                    ELSE row_number() OVER (PARTITION BY unlimited.agent_id, unlimited.its_session
                                            ORDER BY unlimited.score DESC, unlimited.id)
                    END AS of_session --? per_session
             , CASE WHEN unlimited.its_subject IS NULL THEN 1
                    ELSE row_number() OVER (PARTITION BY unlimited.its_subject
                                            ORDER BY unlimited.score DESC, unlimited.id)
                    END AS of_subject --? per_subject
             , CASE WHEN unlimited.its_day IS NULL THEN 1
                    ELSE row_number() OVER (PARTITION BY unlimited.its_day
                                            ORDER BY unlimited.score DESC, unlimited.id)
                    END AS of_day --? per_day
          FROM unlimited) one
 WHERE true
   AND (one.of_session <= :per_session::integer) --? per_session
   AND (one.of_subject <= :per_subject::integer) --? per_subject
   AND (one.of_day <= :per_day::integer) --? per_day
