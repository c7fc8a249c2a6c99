-- All of them. A text has every digit, and needs no conversion.
SELECT every.agent_id, every.id, every.score::text AS score FROM every
