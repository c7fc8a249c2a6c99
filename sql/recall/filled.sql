CREATE OR REPLACE FUNCTION filled(template text, fillers jsonb, otherwise text DEFAULT ':%s')
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    -- Between two colons in a row nothing stands: what follows is a type.
    SELECT string_agg(CASE WHEN p.place = 1 THEN p.piece
                           WHEN p.before = '' AND p.place > 2 OR p.name = '' THEN ':' || p.piece
                           ELSE coalesce(fillers ->> p.name, replace(otherwise, '%s', p.name))
                                || substr(p.piece, length(p.name) + 1) END,
                      '' ORDER BY p.place)
      FROM (SELECT s.piece, s.place, lag(s.piece) OVER (ORDER BY s.place) AS before,
                   coalesce(substring(s.piece FROM '^[a-z]\w*'), '') AS name
              FROM string_to_table(template, ':') WITH ORDINALITY s(piece, place)) p;
END;

COMMENT ON FUNCTION filled IS
    'The template, where :name is replaced by the text that fillers has for the name, or else by '
    'otherwise, in which %s is the name.';
