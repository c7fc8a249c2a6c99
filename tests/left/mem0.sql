CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE TABLE public.mem0 (
    id uuid NOT NULL,
    vector public.vector(8),
    payload jsonb
);
CREATE TABLE public.mem0_entities (
    id uuid NOT NULL,
    vector public.vector(8),
    payload jsonb
);
INSERT INTO public.mem0 VALUES ('60d2514e-0d22-477d-a659-6e862b63975b', '[1,0,0,0,0,0,0,0.1]', '{"data": "Zoe drinks green tea", "hash": "df53772c007ddc432330bc14eafdd1e3", "lang": "en", "role": "user", "user_id": "zoe", "created_at": "2026-11-26T11:58:09.296728+00:00", "updated_at": "2026-11-26T11:58:09.296728+00:00", "text_lemmatized": "Zoe drinks green tea"}');
INSERT INTO public.mem0 VALUES ('378b7d4b-4b62-4b11-b005-faee64932011', '[0,0,0,0,1,0,1,0.1]', '{"data": "The train to Paris leaves at nine", "hash": "6eceb81c96efa8cc82a00e759fd3bf54", "role": "user", "run_id": "trip", "user_id": "zoe", "created_at": "2026-11-26T11:58:09.332634+00:00", "updated_at": "2026-11-26T11:58:09.332634+00:00", "text_lemmatized": "The train to Paris leaves at nine"}');
INSERT INTO public.mem0 VALUES ('1702f68c-0bc6-4071-891f-1a4457566030', '[0,0,0,0,0,0,0,0.1]', '{"data": "Answers are short", "hash": "3e0a523d2d918d50aa3f7c46b4dc25fc", "role": "user", "agent_id": "helper", "created_at": "2026-11-26T11:58:09.337618+00:00", "updated_at": "2026-11-26T11:58:09.337618+00:00", "text_lemmatized": "Answers are short"}');
INSERT INTO public.mem0 VALUES ('ee5489ba-f0be-4a24-9504-65bc0eebb891', '[0,0,0,0,0,0,0,0.1]', '{"data": "Only in this talk", "hash": "48110eb7bfc6bb679ac7a58a227934ad", "role": "user", "run_id": "talk-1", "created_at": "2026-11-26T11:58:09.338517+00:00", "updated_at": "2026-11-26T11:58:09.338517+00:00", "text_lemmatized": "Only in this talk"}');
INSERT INTO public.mem0 VALUES ('ad5d976e-6c75-46e1-9c08-9d40d89b3b4c', '[0,0,1,0,0,0,0,0.1]', '{"data": "Zoe has a cat", "hash": "3c93df879686c103c4fea1f1d3b45781", "role": "user", "user_id": "zoe", "agent_id": "helper", "created_at": "2026-11-26T11:58:09.341447+00:00", "updated_at": "2026-11-26T11:58:09.341447+00:00", "expiration_date": "2199-12-31", "text_lemmatized": "Zoe has a cat"}');
INSERT INTO public.mem0 VALUES ('61856938-7456-4cea-b1c8-00f07ad5924a', '[0,0,0,0,0,0,0,0.1]', '{"data": "größer ☕ \\ '' \"", "hash": "93851e302325a04a41aa38170e3c3a0b", "role": "user", "user_id": "zoe", "created_at": "2026-11-26T11:58:09.344006+00:00", "updated_at": "2026-11-26T11:58:09.344006+00:00", "text_lemmatized": "größer ☕ \\ '' \""}');
INSERT INTO public.mem0_entities VALUES ('8b110940-0f58-4e37-80cb-cafb454a18d3', '[0,0,0,0,0,0,0,0.1]', '{"data": "Zoe", "user_id": "zoe", "entity_type": "person", "linked_memory_ids": ["60d2514e-0d22-477d-a659-6e862b63975b"]}');
ALTER TABLE ONLY public.mem0_entities
    ADD CONSTRAINT mem0_entities_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mem0
    ADD CONSTRAINT mem0_pkey PRIMARY KEY (id);
