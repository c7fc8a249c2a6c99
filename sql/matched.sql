-- The memories of these agents, each with its usage and with what the query has to do with it.
-- A :name is a parameter, or a relation or value that the caller fills in (search/matched.py).
SELECT m.*,
       -- valid at the moment, and stored by then
       pgrecall.is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, :moment)
       AS valid,
       (:as_of IS NULL OR m.created_at IS NULL OR m.created_at <= :as_of) AS existed,
       -- usage
       coalesce(u.retrieval_count, 0) AS retrieval_count,
       coalesce(u.success_count, 0) AS success_count,
       coalesce(u.failure_count, 0) AS failure_count,
       coalesce(u.feedback_up, 0) AS feedback_up,
       coalesce(u.feedback_down, 0) AS feedback_down,
       CASE WHEN :as_of IS NULL OR u.last_accessed_at <= :as_of
            THEN u.last_accessed_at END AS last_accessed_at,
       -- meaning: the cosine, at least 0, and that of the query less a share of the agent's mean
       pgrecall.cosine(m.embedding, :query) AS cosine,
       pgrecall.similarity(m.embedding, :query, NULL) AS similarity,
       pgrecall.similarity(m.embedding, q.query_vector, NULL) AS centered_similarity,
       -- words: the share of the query's known terms that it has, and that of these of all terms
       coalesce(w.share, 0) AS word_share, w.coverage AS word_coverage,
       -- names: the share of those in the query that it has
       CASE WHEN q.names_in_query > 0
            THEN pgrecall.entity_overlap(m.entities, q.query_entities, :named_subject,
                                         q.names_in_query)
            ELSE 0 END AS entity_overlap,
       -- time: nearness to the query's period
       pgrecall.time_nearness(coalesce(m.observed_at, m.created_at), :period_from, :period_to,
                              NULL, m.observed_at IS NULL) AS nearness,
       -- the mean of similarity and words, where words that no memory has count too
       pgrecall.relevance(pgrecall.similarity(m.embedding, :query, 0),
                          pgrecall.keyword(w.share * w.coverage, octet_length(m.content), 0.8, 400),
                          CASE WHEN :has_query AND q.has_terms THEN 2 ELSE 1 END) AS relevance,
       -- what the query has, which decides whose weight counts
       :has_query AS has_query, q.has_terms AS has_terms, q.names_in_query > 0 AS has_names,
       :period_from IS NOT NULL AS has_period,
       :moment AS moment
  FROM :memories m
  LEFT JOIN :usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
  LEFT JOIN :words w ON w.agent_id = m.agent_id AND w.memory_id = m.id
  LEFT JOIN :query_facts q ON q.agent_id = m.agent_id
