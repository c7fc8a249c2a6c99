CREATE OR REPLACE FUNCTION filtered_text(options text[], template text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    named text[] := regexp_split_to_array($$most, last, owner_id, compared,
        @filters@, as_of$$, ',\s+');
BEGIN
    RETURN filled(replace(template, '{passes}', split_part(composed('passing', options), E'\n WHERE ', 2)),
        (SELECT jsonb_object_agg(n.name, '$' || n.place) FROM unnest(named) WITH ORDINALITY n(name, place)));
END
$function$;

COMMENT ON FUNCTION filtered_text IS
    'A statement made from a template, in which {passes} is replaced by the conditions of the filters.';
