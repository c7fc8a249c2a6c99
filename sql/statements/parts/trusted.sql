-- The condition on trust. It decays since the last access; unknown trust does not pass.
SELECT FROM pgrecall.agent_memories LEFT JOIN pgrecall.memory_usage ON true WHERE
       true
   AND (agent_memories.trust IS NOT NULL
        AND pgrecall.decayed_trust(agent_memories.trust, memory_usage.last_accessed_at, now(),
            agent_memories.trust_curve, agent_memories.trust_half_life_hours, 0::float8)
            >= :min_trust::float8) --? min_trust !as_of
   AND (agent_memories.trust IS NOT NULL
        AND pgrecall.decayed_trust(agent_memories.trust,
            CASE WHEN memory_usage.last_accessed_at <= :as_of::timestamptz
                 THEN memory_usage.last_accessed_at END, :as_of::timestamptz,
            agent_memories.trust_curve, agent_memories.trust_half_life_hours, 0::float8)
            >= :min_trust::float8) --? min_trust as_of
