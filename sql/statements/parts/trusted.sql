-- The condition on trust. It decays since the last access; unknown trust does not pass.
SELECT FROM pgrecall.agent_memories LEFT JOIN pgrecall.memory_usage ON true WHERE
       true
   AND (agent_memories.trust >= :min_trust::float8) --? min_trust undecayed
   AND (agent_memories.trust IS NOT NULL
        AND pgrecall.decayed_trust(agent_memories.trust, :last_accessed_at, :moment,
            agent_memories.trust_curve, agent_memories.trust_half_life_hours, 0::float8)
            >= :min_trust::float8) --? min_trust !undecayed
