-- Each memory of the lists once.
SELECT DISTINCT listed.agent_id, listed.id, listed.score, listed.ages
     , listed.share, listed.coverage --? words
  FROM listed
