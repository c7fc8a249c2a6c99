-- The memories that may be among the best by a list: few, so that sorting them takes no time. What
-- equals a cut is left out, since it has no more than the n-th, and often nearly every memory does.
SELECT every.*, :listed AS listed
  FROM every
 WHERE CASE WHEN every.score >= (SELECT cuts.score FROM cuts)
              OR :above_cuts
            THEN 1 END = 1
