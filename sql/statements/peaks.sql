-- The greatest values of groups, into which chance divides the memories. The n-th greatest of these
-- is at most the n-th greatest of all, and hardly less, since there are four times as many groups.
SELECT count(*) AS memories, max(every.score) AS score, :peaks AS listed
  FROM every
 GROUP BY every.part
