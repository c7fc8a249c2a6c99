-- A view is as good as its columns are independent of a query: similarity, keyword and entity
-- signals need one, and are not here. Half-lives and caps are those of the built-in profiles.
CREATE VIEW memory_signals AS
SELECT m.agent_id, NULL::text AS team_id, m.id, m.memory_type, m.tier, m.status,
       is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()) AS valid,
       date_part('epoch', now() - m.created_at) / 86400 AS age_days,
       date_part('epoch', now() - u.last_accessed_at) / 86400 AS days_since_access,
       coalesce(u.retrieval_count, 0) AS retrieval_count,
       coalesce(u.success_count, 0) AS success_count,
       coalesce(u.failure_count, 0) AS failure_count,
       u.last_accessed_at,
       recency_exponential(m.created_at, now(), 0.05, 0.5) AS recency_five_factor,
       recency_exponential(coalesce(u.last_accessed_at, m.created_at), now(), 0.05, 0.5)
           AS recency_last_access,
       recency_exponential(greatest(u.last_accessed_at, m.created_at), now(),
           0.6931471805599453 / 14, 0.5) AS recency_half_life,
       recency_hyperbolic(m.created_at, now(), 7, 0.5) AS recency_trust,
       recency_exponential(coalesce(u.last_accessed_at, m.created_at), now(),
           0.6931471805599453 / CASE m.tier WHEN 'short' THEN 0.25 WHEN 'medium' THEN 7 ELSE 90 END,
           0.5) AS recency_tiered,
       frequency(u.retrieval_count, 50) AS frequency_five_factor,
       frequency(u.retrieval_count, 20) AS frequency_tiered,
       m.usefulness, m.importance, m.confidence, m.trust,
       decayed_trust(m.trust, u.last_accessed_at, now(), m.trust_curve,
           m.trust_half_life_hours, NULL) AS decayed_trust
  FROM agent_memories m
  LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
UNION ALL
SELECT NULL, m.team_id, m.id, m.memory_type, m.tier, m.status,
       is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()),
       date_part('epoch', now() - m.created_at) / 86400,
       date_part('epoch', now() - u.last_accessed_at) / 86400,
       coalesce(u.retrieval_count, 0),
       coalesce(u.success_count, 0),
       coalesce(u.failure_count, 0),
       u.last_accessed_at,
       recency_exponential(m.created_at, now(), 0.05, 0.5),
       recency_exponential(coalesce(u.last_accessed_at, m.created_at), now(), 0.05, 0.5),
       recency_exponential(greatest(u.last_accessed_at, m.created_at), now(),
           0.6931471805599453 / 14, 0.5),
       recency_hyperbolic(m.created_at, now(), 7, 0.5),
       recency_exponential(coalesce(u.last_accessed_at, m.created_at), now(),
           0.6931471805599453 / CASE m.tier WHEN 'short' THEN 0.25 WHEN 'medium' THEN 7 ELSE 90 END,
           0.5),
       frequency(u.retrieval_count, 50),
       frequency(u.retrieval_count, 20),
       m.usefulness, m.importance, m.confidence, m.trust,
       decayed_trust(m.trust, u.last_accessed_at, now(), m.trust_curve,
           m.trust_half_life_hours, NULL)
  FROM team_memories m
  LEFT JOIN memory_usage u ON u.agent_id = m.team_id AND u.memory_id = m.id;

COMMENT ON VIEW memory_signals IS
    'Every memory with those of its signals that no query is needed for, as of now; filter on agent_id or team_id.';
