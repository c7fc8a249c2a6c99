-- The rank of each relevant memory by each candidate, best first, ties by id.
SELECT relevant.candidate, relevant.number, relevant.gain,
       1 + count(*) FILTER (WHERE (relevant.score, scores.id) < (scores.score, relevant.id)) AS rank
  FROM relevant
  JOIN scores ON scores.candidate = relevant.candidate AND scores.number = relevant.number
 GROUP BY relevant.candidate, relevant.number, relevant.id, relevant.gain, relevant.score
