-- Those that occur in a text as whole words. CASE makes sure that the regular expression runs on
-- short entities alone that can match.
SELECT texts.number, known.entity,
       row_number() OVER (PARTITION BY texts.number
                          ORDER BY length(known.entity) DESC, known.entity) AS place
  FROM unnest(:texts::text[]) WITH ORDINALITY texts(said, number)
  JOIN known
    ON CASE WHEN length(known.entity) BETWEEN 1 AND :longest::integer
             AND strpos(lower(texts.said), lower(known.entity)) > 0
            THEN texts.said ~* concat('(?<!\w)',
                 regexp_replace(known.entity, '([^\w\s])', '\\\1', 'g'), '(?!\w)')
            ELSE false END
