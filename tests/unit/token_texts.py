"""Texts of several kinds and what the o200k table of OpenAI's tiktoken makes of them."""

ORDINARY: dict[str, tuple[int, str]] = {
    "English": (
        36,
        "Ines Verhaegen asked for answers that begin with the conclusion; she skips to the last "
        "line whenever the reasoning comes first, and said so twice in the review on Monday.",
    ),
    "English with names and numbers": (
        48,
        "Gudrun Falk scored the service 5 out of 10 on 9 July 2026; slot search takes 9.4 s when "
        "planners start at 06:00, and 31 % of revenue hangs on her account.",
    ),
    "German": (
        31,
        "Die Besprechung mit der Geschäftsführung wurde auf Donnerstag verschoben, weil zwei "
        "Kolleginnen erkrankt sind; bitte bestätigt den Termin bis heute Abend.",
    ),
    "German with long words": (
        45,
        "Die Datenschutzgrundverordnung verlangt, dass personenbezogene Daten auf Anfrage "
        "gelöscht werden. Die Kraftfahrzeughaftpflichtversicherung wurde zum Jahreswechsel "
        "gekündigt, außerdem sind Übergangsfristen für größere Überweisungen zu prüfen.",
    ),
    "Python": (
        72,
        "def counted(counter: TokenCounter, texts: Sequence[str]) -> list[int]:\n"
        "    numbers = []\n"
        "    for text in texts:\n"
        "        number = counter(text)\n"
        "        if isinstance(number, bool) or not isinstance(number, int):\n"
        '            raise InputError(f"a whole number, got {number!r:.60}")\n'
        "        numbers.append(number)\n"
        "    return numbers\n",
    ),
    "JSON": (
        60,
        '{"id": "m091", "days_ago": 98.3, "memory_type": "episodic", "importance": 0.8, '
        '"entities": ["Gudrun Falk"], "tags": ["brennholt", "complaint"], "trust": null}',
    ),
    "Shell": (
        37,
        "kubectl -n prod rollout undo deploy/api --to-revision=42 && tail -f /var/log/app.log | "
        "grep -E 'ERROR|WARN' > ~/errors.txt",
    ),
    "log": (
        75,
        "2026-03-14T07:22:51.193482Z ERROR [worker-3] app.db.pool: connection to 10.0.17.204:5432 "
        "refused (attempt 2)\n2026-03-14T07:22:53.004417Z INFO [worker-3] retrying in 4.0 s",
    ),
    "hexadecimal": (
        119,
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
        "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752\n"
        "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13\n",
    ),
    "UUIDs": (
        98,
        "01a20367-286d-70ff-bc35-1f2c8ee7ca3a 3f2504e0-4f89-41d3-9a0c-0305e82c3301 "
        "c9a646d3-9c61-4cb7-bfcd-ee2522c8f633 7d444840-9dc0-11d1-b245-5ffdce74fad2",
    ),
    "bytes": (51, "de ad be ef 00 1f 8b 08 a4 5c 90 3e 7f 45 4c 46 02 01 01 00 c3 28 f1 9a"),
    "digits": (25, "314159265358979323846264338327950288419716939937510582097494459230781640628"),
    "Chinese": (27, "她喝茶不加牛奶，并且希望会议在十点以后开始。由于密钥过期，部署失败了。"),
    "Japanese": (
        32,
        "彼女は牛乳を入れずにお茶を飲み、会議は十時以降に始めてほしいと言っています。",
    ),
    "Korean": (24, "그녀는 우유 없이 차를 마시고 회의는 열 시 이후에 시작하기를 원합니다."),
    "Russian": (21, "Она пьёт чай без молока и просит, чтобы совещания начинались после десяти."),
    "French": (
        22,
        "Le déploiement a échoué à cause d'une clé expirée ; l'équipe est revenue en arrière.",
    ),
}
"""By kind, its tokens and the text."""
UNDERCOUNTED: dict[str, tuple[int, str]] = {
    "base64": (
        47,
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO",
    ),
    "emoji": (27, "🙂👍🎉 great job 🚀🚀 👩‍👩‍👧 family 🧑🏽‍💻"),
}
"""What the estimate is known to find too small."""
