-- Values are columns of q, which the planner pulls up: it sees them.
CREATE OR REPLACE FUNCTION filtered_text(given text[], template text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $function$
DECLARE
    named text[] := regexp_split_to_array($$most, last, moment, owners, compared, apply_decay,
        @filters@$$, ',\s+');
    found text;
BEGIN
    -- What nearly every memory meets, in one that the planner believes to be true, as it does of IS
    -- NOT NULL. Without statistics it would expect a single memory (ADR-0046).
    SELECT replace(template, '{passes}', concat_ws(E'\n       AND ', 'm.agent_id = q.owners[1]',
                   format('CASE WHEN %s THEN 1 END IS NOT NULL', coalesce(
                       string_agg(format('(%s)', c.condition), ' AND ') FILTER (WHERE nearly_all), 'true')),
                   string_agg(format('(%s)', c.condition), E'\n       AND ') FILTER (WHERE NOT nearly_all)))
      INTO found
      FROM unnest(given) g(name) JOIN recall_conditions() c USING (name),
           LATERAL (SELECT name IN ('valid', 'statuses', 'as_of') AS nearly_all) n;
    found := replace(found, '{usage}', $text$LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = q.owners[1]$text$);
    IF 'as_of' = ANY (given) THEN  -- later retrievals are not seen
        found := replace(found, 'decayed_trust(m.trust, u.last_accessed_at,',
                         'decayed_trust(m.trust, CASE WHEN u.last_accessed_at <= q.moment '
                         'THEN u.last_accessed_at END,');
    END IF;
    RETURN format('WITH q AS NOT MATERIALIZED (SELECT %s)', (
        SELECT string_agg(format('$%s AS %I', v.place, v.name), ', ' ORDER BY v.place)
          FROM unnest(named) WITH ORDINALITY v(name, place)
         WHERE strpos(found, 'q.' || v.name) > 0)) || found;
END
$function$;

COMMENT ON FUNCTION filtered_text IS
    'A statement made from a template, in which {passes} and {usage} are replaced by the conditions of the filters and the join that they need.';
