CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE TABLE public.langchain_pg_collection (
    uuid uuid NOT NULL,
    name character varying NOT NULL,
    cmetadata json
);
CREATE TABLE public.langchain_pg_embedding (
    id character varying NOT NULL,
    collection_id uuid,
    embedding public.vector,
    document character varying,
    cmetadata jsonb
);
CREATE TABLE public.notes (
    langchain_id uuid NOT NULL,
    content text NOT NULL,
    embedding public.vector(8) NOT NULL,
    topic text,
    langchain_metadata json
);
INSERT INTO public.langchain_pg_collection VALUES ('1e28f104-fa6e-4f99-b462-cccb99fb318e', 'zoe', 'null');
INSERT INTO public.langchain_pg_collection VALUES ('d9e76b71-09a5-489a-b63f-8d16b9069117', 'bob', 'null');
INSERT INTO public.langchain_pg_embedding VALUES ('zoe-0', '1e28f104-fa6e-4f99-b462-cccb99fb318e', '[1,0,0,0,0,0,0,0.1]', 'zoe has tea 0', '{"n": 0, "user": "u"}');
INSERT INTO public.langchain_pg_embedding VALUES ('zoe-1', '1e28f104-fa6e-4f99-b462-cccb99fb318e', '[1,0,0,0,0,0,0,0.1]', 'zoe has tea 1', '{"n": 1, "user": "u"}');
INSERT INTO public.langchain_pg_embedding VALUES ('zoe-2', '1e28f104-fa6e-4f99-b462-cccb99fb318e', '[1,0,0,0,0,0,0,0.1]', 'zoe has tea 2', '{"n": 2, "user": "u"}');
INSERT INTO public.langchain_pg_embedding VALUES ('bob-0', 'd9e76b71-09a5-489a-b63f-8d16b9069117', '[1,0,0,0,0,0,0,0.1]', 'bob has tea 0', '{"n": 0, "user": "u"}');
INSERT INTO public.langchain_pg_embedding VALUES ('bob-1', 'd9e76b71-09a5-489a-b63f-8d16b9069117', '[1,0,0,0,0,0,0,0.1]', 'bob has tea 1', '{"n": 1, "user": "u"}');
INSERT INTO public.langchain_pg_embedding VALUES ('41b7cd42-6576-4a74-af6b-326e4a21ce45', 'd9e76b71-09a5-489a-b63f-8d16b9069117', '[0,0,0,0,0,0,0,0.1]', 'without an id', '{"user": "w"}');
INSERT INTO public.notes VALUES ('0197a3c2-0000-7000-8000-000000000001', 'a ship', '[0,0,0,0,0,1,0,0.1]', 'sea', '{"page": 1}');
INSERT INTO public.notes VALUES ('0197a3c2-0000-7000-8000-000000000002', 'a dog', '[0,0,0,1,0,0,0,0.1]', 'pets', '{}');
ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_name_key UNIQUE (name);
ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_pkey PRIMARY KEY (uuid);
ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (langchain_id);
ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_collection_id_fkey FOREIGN KEY (collection_id) REFERENCES public.langchain_pg_collection(uuid) ON DELETE CASCADE;
