-- The day of a memory, in the time zone of the call.
SELECT
(coalesce(agent_memories.observed_at, agent_memories.created_at) AT TIME ZONE :day_zone::text)::date
