-- The conditions on a memory alone. The planner believes the first one to be true, as it does of
-- any IS NOT NULL: without statistics it would expect a single memory of what nearly every one
-- meets (ADR-0033).
SELECT FROM pgrecall.agent_memories WHERE
       (CASE WHEN true
             AND (pgrecall.is_valid(agent_memories.valid_from, agent_memories.valid_until,
                  agent_memories.invalidated_at, agent_memories.expires_at, now())) --? valid !as_of
             AND (pgrecall.is_valid(agent_memories.valid_from, agent_memories.valid_until,
                  agent_memories.invalidated_at, agent_memories.expires_at,
                  :as_of::timestamptz)) --? valid as_of
             AND (agent_memories.created_at IS NULL
                  OR agent_memories.created_at <= :as_of::timestamptz) --? as_of
             AND (agent_memories.status = 'active') --? !statuses
             AND (agent_memories.status = ANY (:statuses::text[])) --? statuses
             AND (agent_memories.embedding IS NOT NULL) --? embedding
             THEN 1 END IS NOT NULL)
   AND (agent_memories.memory_nature = ANY (:memory_natures::text[])) --? memory_natures
   AND (agent_memories.content_type = ANY (:content_types::text[])) --? content_types
   AND (agent_memories.tier = ANY (:tiers::text[])) --? tiers
   AND (agent_memories.component = ANY (:components::text[])) --? components
   AND (agent_memories.output_type = ANY (:output_types::text[])) --? output_types
   AND (agent_memories.domain = ANY (:domains::text[])) --? domains
   AND (agent_memories.category = ANY (:categories::text[])) --? categories
   AND (agent_memories.loop = ANY (:loops::text[])) --? loops
   AND (agent_memories.memory_type = ANY (:memory_types::text[])
        OR agent_memories.additional_types && :memory_types::text[]) --? memory_types
   AND (agent_memories.tags && :tags::text[]) --? tags
   AND (agent_memories.tags @> :all_tags::text[]) --? all_tags
   AND (agent_memories.entities && (
        SELECT pgrecall.known_as(:owner_id::text, :entities::text[]))) --? entities !teams
   AND (agent_memories.entities && (
        SELECT pgrecall.known_as((:all_owners::text[])[1], :entities::text[],
                   (:all_owners::text[])[2:]))) --? entities teams
   AND (agent_memories.entities @> (
        SELECT pgrecall.known_for(:owner_id::text, :all_entities::text[]))) --? all_entities !teams
   AND (agent_memories.entities @> (
        SELECT pgrecall.known_for((:all_owners::text[])[1], :all_entities::text[],
                   (:all_owners::text[])[2:]))) --? all_entities teams
   AND (agent_memories.metadata @> :metadata::jsonb) --? metadata
   AND (pgrecall.unmet_comparison(agent_memories.metadata, :compared::jsonb) = 0) --? compared
   AND (pgrecall.meets_comparison(agent_memories.metadata #> :compared_0_path::text[],
        :compared_0_operator::text, :compared_0_value::jsonb,
        :compared_0_among::jsonb[])) --? comparison_1
   AND (pgrecall.meets_comparison(agent_memories.metadata #> :compared_1_path::text[],
        :compared_1_operator::text, :compared_1_value::jsonb,
        :compared_1_among::jsonb[])) --? comparison_2
   AND (pgrecall.meets_comparison(agent_memories.metadata #> :compared_2_path::text[],
        :compared_2_operator::text, :compared_2_value::jsonb,
        :compared_2_among::jsonb[])) --? comparison_3
   AND (pgrecall.meets_comparison(agent_memories.metadata #> :compared_3_path::text[],
        :compared_3_operator::text, :compared_3_value::jsonb,
        :compared_3_among::jsonb[])) --? comparison_4
   AND (agent_memories.terms @@ (SELECT pgrecall.word_filter(:text::text))) --? text
   AND (agent_memories.created_at >= :created_after::timestamptz) --? created_after
   AND (agent_memories.created_at < :created_before::timestamptz) --? created_before
   AND (agent_memories.compliant = :compliant::boolean) --? compliant
   AND (agent_memories.needs_review = :needs_review::boolean) --? needs_review
   AND (pgrecall.cosine(agent_memories.embedding, :query)
        >= :min_similarity::float8) --? min_similarity
   AND (:where) --? where
