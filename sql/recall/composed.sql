-- The same as app/pgrecall/statements/composer.py, whose documentation describes the files. A name
-- that fillers has stands for its text, in which others may stand; other names are parameters.
CREATE OR REPLACE FUNCTION composed(name text, given text[], places jsonb) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    options text[] := statement_options(given);
    bodies jsonb;
    fillers jsonb;
    list text;
    begun text;
    entry text;
    body text;
    tables text;
    last text;
    found text;
    filled text;
BEGIN
    SELECT jsonb_object_agg(b.file, b.body) FILTER (WHERE b.file !~ '^:'),
           jsonb_object_agg(substr(b.file, 2), replace(btrim(b.body, E' \n'), E'\n', E'\n    '))
               FILTER (WHERE b.file ~ '^:')
      INTO bodies, fillers
      FROM (SELECT l.file, string_agg(l.line, E'\n' ORDER BY l.place) AS body
              FROM statement_lines() l
             WHERE l.needs <@ options AND NOT l.excludes && options AND l.file <> 'options'
             GROUP BY l.file) b;
    fillers := fillers || (
        SELECT coalesce(jsonb_object_agg(p.key, replace(p.value, E'\n', E'\n    ')), '{}')
          FROM jsonb_each_text(places) p);
    list := bodies ->> name;
    LOOP
        begun := substring(list FROM '--begin (\w+)');
        EXIT WHEN begun IS NULL;
        list := replace(list, '--begin ' || begun,
                        regexp_replace(bodies ->> begun, '\n--then.*', '', 'g'));
    END LOOP;
    FOREACH entry IN ARRAY string_to_array(list, E'\n') LOOP
        body := bodies ->> substring(entry FROM '\w+$');
        IF starts_with(entry, '--then ') THEN
            last := body;
        ELSE
            tables := concat_ws(', ', tables, format(E'%s (\n    %s\n)',
                substring(entry FROM '^--with (.*) \w+$'), replace(body, E'\n', E'\n    ')));
        END IF;
    END LOOP;
    found := format(E'/* pgrecall %s */\n%s%s', name, 'WITH ' || tables || E'\n', last);
    LOOP
        filled := filled(found, fillers);
        EXIT WHEN filled = found;
        found := filled;
    END LOOP;
    RETURN replace(found, 'pgrecall.', format('"%s".', replace(current_schema(), '"', '""')));
END
$function$;

COMMENT ON FUNCTION composed IS
    'The text of a statement with these options, with named parameters such as :tags. places: what stands for other names.';

CREATE OR REPLACE FUNCTION statement_options(given text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    option record;
BEGIN
    FOR option IN SELECT * FROM statement_lines() l WHERE l.file = 'options' ORDER BY l.place LOOP
        IF option.needs <@ given AND NOT option.excludes && given THEN
            given := given || option.line;
        END IF;
    END LOOP;
    RETURN given;
END
$function$;

COMMENT ON FUNCTION statement_options IS
    'Options of a statement, with those that follow from them.';
