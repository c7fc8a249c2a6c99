-- The view has only signals that need no query: similarity, keyword, time and entity overlap are
-- not here. Half-lives and caps are those of the built-in profiles.
CREATE OR REPLACE VIEW memory_signals WITH (security_invoker = true) AS
SELECT m.agent_id, m.id, m.memory_type, m.tier, m.status,
       is_valid(m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, now()) AS valid,
       CASE WHEN m.created_at IS NOT NULL
            THEN greatest(date_part('epoch', now() - m.created_at) / 86400, 0) END AS age_days,
       CASE WHEN u.last_accessed_at IS NOT NULL
            THEN greatest(date_part('epoch', now() - u.last_accessed_at) / 86400, 0)
       END AS days_since_access,
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
  LEFT JOIN memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id;

COMMENT ON VIEW memory_signals IS
    'Each memory with the signals that need no query, as of now. Filter on agent_id.';

COMMENT ON COLUMN memory_signals.agent_id IS 'The owner: an agent, or a team as team:<id>.';
COMMENT ON COLUMN memory_signals.id IS 'The id of the memory.';
COMMENT ON COLUMN memory_signals.memory_type IS
    'The kind of memory, such as episodic, fact or task.';
COMMENT ON COLUMN memory_signals.tier IS 'The tier: short, medium or long.';
COMMENT ON COLUMN memory_signals.status IS
    'The status: active, pending, consolidated, completed or archived. Searches return active '
    'memories unless they ask for others.';
COMMENT ON COLUMN memory_signals.valid IS
    'True if the memory is valid now: within its validity, not invalidated and not expired, '
    'whatever its status.';
COMMENT ON COLUMN memory_signals.age_days IS
    'Days since created_at, never negative; NULL: unknown.';
COMMENT ON COLUMN memory_signals.days_since_access IS
    'Days since the last access, never negative; NULL: never.';
COMMENT ON COLUMN memory_signals.retrieval_count IS 'The number of retrievals.';
COMMENT ON COLUMN memory_signals.success_count IS 'The number of uses that went well.';
COMMENT ON COLUMN memory_signals.failure_count IS 'The number of uses that went wrong.';
COMMENT ON COLUMN memory_signals.last_accessed_at IS
    'The last access: a retrieval, an outcome, or the same text added again.';
COMMENT ON COLUMN memory_signals.recency_five_factor IS
    'exp(-0.05 * days since creation); 0.5 where unknown.';
COMMENT ON COLUMN memory_signals.recency_last_access IS
    'exp(-0.05 * days since the last access, or creation); 0.5 where unknown.';
COMMENT ON COLUMN memory_signals.recency_half_life IS
    'Half-life 14 days since creation or last access, whichever is later; 0.5 where unknown.';
COMMENT ON COLUMN memory_signals.recency_trust IS
    '1 / (1 + days since creation / 7); 0.5 where unknown.';
COMMENT ON COLUMN memory_signals.recency_tiered IS
    'Half-life 6 hours, 7 or 90 days by tier, since the last access, or creation; 0.5 where '
    'unknown.';
COMMENT ON COLUMN memory_signals.frequency_five_factor IS 'Retrievals as a share of 50, at most 1.';
COMMENT ON COLUMN memory_signals.frequency_tiered IS 'Retrievals as a share of 20, at most 1.';
COMMENT ON COLUMN memory_signals.usefulness IS 'The posterior mean of helpfulness from feedback.';
COMMENT ON COLUMN memory_signals.importance IS 'The importance of the memory, 0 to 1.';
COMMENT ON COLUMN memory_signals.confidence IS 'The confidence of its extraction, 0 to 1.';
COMMENT ON COLUMN memory_signals.trust IS 'Trust as stored, before decay; NULL: never assessed.';
COMMENT ON COLUMN memory_signals.decayed_trust IS
    'Trust now, decayed since the last access by the curve of the row; NULL: never assessed.';
