-- Those of these ids that are memories of the owner, and their stored trust.
SELECT agent_memories.id
     , agent_memories.trust --? trusts
  FROM pgrecall.agent_memories
 WHERE agent_memories.agent_id = :owner_id::text
   AND agent_memories.id = ANY (:ids::uuid[])
