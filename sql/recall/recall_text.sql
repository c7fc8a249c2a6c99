-- One text for every profile, with the score as a call that PostgreSQL inlines. Its values are told
-- once, as the columns of q, which is pulled up: the planner sees what each condition asks, and leaves
-- out those that ask nothing.
CREATE OR REPLACE FUNCTION recall_text(
    profile text, facts jsonb, given text[], has_words boolean, template text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $function$
DECLARE
    named text[] := ARRAY[
        -- Written by make recall: values.
        'most', 'moment', 'owners', 'weighed', 'sources', 'agent', 'query', 'query_text', 'profile',
        'k', 'weights', 'min_score', 'min_similarity', 'teams', 'query_entities', 'apply_decay',
        'as_of', 'memory_types', 'tiers', 'tags', 'all_tags', 'entities', 'all_entities', 'labels',
        'label_kinds', 'text', 'metadata', 'created_after', 'created_before', 'components',
        'output_types', 'domains', 'categories', 'loops', 'compliant', 'min_trust', 'statuses',
        'include_invalid'
        -- As written.
    ];
    reads text := replace(facts ->> 'reads', 'coalesce(words.share, 0)', '{share}');
    found text := template;
    put_in text[];
BEGIN
    FOREACH put_in SLICE 1 IN ARRAY ARRAY[
        ['{score}', format('score_%s(%s, q.weighed)', profile, reads)],
        ['{signals}', format('signals_%s(%s)', profile, replace(reads, '{share}', 'r.keyword'))],
        ['{passes}', (SELECT string_agg(format('(%s)', c.condition), E'\n       AND ')
                        FROM recall_conditions() c WHERE c.name = ANY (given))],
        ['{meets}', CASE WHEN template LIKE '%{meets}%' THEN (SELECT string_agg(format('%L, coalesce(%s, false)', c.name, c.condition), ', ')
                       FROM recall_conditions() c WHERE c.name = ANY (given)) ELSE '' END],
        ['{usage}', CASE WHEN reads LIKE '%u.%' OR 'min_trust' = ANY (given) THEN
      'LEFT JOIN memory_usage u
        ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id {owned}' ELSE '' END],
        ['{words}', CASE WHEN has_words THEN
      'LEFT JOIN keyword_shares(q.owners, q.query_text) words
        ON words.memory_id = m.id'
          -- Of one owner: told once more, it would seem so few that each is compared with each.
          || CASE WHEN 'teams' = ANY (given) THEN ' AND words.agent_id = m.agent_id' ELSE '' END
          ELSE '' END],
        ['{words of candidates}', CASE WHEN has_words THEN
      'CROSS JOIN LATERAL (
          SELECT least(sum(a.weight) FILTER (WHERE a.term = ANY (its.terms)) / sum(a.weight), 1) AS share
            FROM (SELECT tsvector_to_array(m.terms) AS terms OFFSET 0) its,
                 unnest(t.terms, t.weights) a(term, weight)) words' ELSE '' END],
        ['{owned}', CASE WHEN 'teams' = ANY (given) THEN '= ANY (q.owners)' ELSE '= q.owners[1]' END],
        ['{share}', CASE WHEN has_words THEN 'coalesce(words.share, 0)' ELSE '0::float8' END]
    ] LOOP
        found := replace(found, put_in[1], put_in[2]);
    END LOOP;
    RETURN replace(found, '{q}', (
        SELECT string_agg(format('$%s AS %I', n.place, n.name), ', ' ORDER BY n.place)
          FROM unnest(named) WITH ORDINALITY n(name, place)
         WHERE strpos(found, 'q.' || n.name) > 0));
END
$function$;

COMMENT ON FUNCTION recall_text IS
    'The text of a statement with its score, its conditions and the tables they need put in where it says {score}, {passes}, ….';

-- What keeps a memory m with its usage u out of an answer to the question q.
CREATE OR REPLACE FUNCTION recall_conditions() RETURNS TABLE (name text, condition text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    VALUES
        -- Written by make recall: conditions.
        ('valid', $condition$is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, q.moment)$condition$),
        ('as_of', $condition$m.created_at IS NULL OR m.created_at <= q.moment$condition$),
        ('statuses', $condition$m.status = ANY (q.statuses)$condition$),
        ('tiers', $condition$m.tier = ANY (q.tiers)$condition$),
        ('components', $condition$m.component = ANY (q.components)$condition$),
        ('output_types', $condition$m.output_type = ANY (q.output_types)$condition$),
        ('domains', $condition$m.domain = ANY (q.domains)$condition$),
        ('categories', $condition$m.category = ANY (q.categories)$condition$),
        ('loops', $condition$m.loop = ANY (q.loops)$condition$),
        ('memory_types', $condition$m.memory_type = ANY (q.memory_types) OR (m.additional_types && q.memory_types)$condition$),
        ('tags', $condition$m.tags && q.tags$condition$),
        ('all_tags', $condition$m.tags @> q.all_tags$condition$),
        ('entities', $condition$m.entities && q.entities$condition$),
        ('all_entities', $condition$m.entities @> q.all_entities$condition$),
        ('labels', $condition$EXISTS (SELECT 1 FROM memory_labels WHERE memory_labels.agent_id = m.agent_id AND memory_labels.memory_id = m.id AND memory_labels.value = ANY (q.labels) AND memory_labels.agent_id = ANY (q.owners))$condition$),
        ('metadata', $condition$m.metadata @> q.metadata$condition$),
        ('text', $condition$m.terms @@ (SELECT word_filter(q.text) AS word_filter_1)$condition$),
        ('created_after', $condition$m.created_at >= q.created_after$condition$),
        ('created_before', $condition$m.created_at < q.created_before$condition$),
        ('compliant', $condition$m.compliant = q.compliant$condition$),
        ('min_trust', $condition$m.trust IS NOT NULL AND CASE WHEN q.apply_decay THEN decayed_trust(m.trust, u.last_accessed_at, q.moment, m.trust_curve, m.trust_half_life_hours, 0.5) ELSE coalesce(m.trust, 0.5) END >= q.min_trust$condition$),
        ('embedding', $condition$m.embedding IS NOT NULL$condition$),
        ('min_similarity', $condition$similarity(m.embedding, q.query, NULL) >= q.min_similarity$condition$),
        ('label_kinds', $condition$EXISTS (SELECT 1 FROM memory_labels WHERE memory_labels.agent_id = m.agent_id AND memory_labels.memory_id = m.id AND memory_labels.value = ANY (q.labels) AND memory_labels.agent_id = ANY (q.owners) AND memory_labels.kind = ANY (q.label_kinds))$condition$)
        -- As written.
    ;
END;

COMMENT ON FUNCTION recall_conditions IS 'Every condition on a memory to be ranked at all, by name.';
