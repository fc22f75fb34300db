"""Words for what columns are, in the languages of those who write them.

A column whose name is not known letter by letter is taken for what its words say, if its values
can be read so. Words of up to four letters must stand alone; longer ones may begin or end a
word (``Laufdauer``), and those of six or more, or of a script without spaces, may stand within one.
"""

from __future__ import annotations

import re

from cloudarena.importing.dates import plain

BEGIN = (
    "start started begin began create created creation creat launch launched boot provisioned "
    "since beginn anfang erstellt erstellung angelegt gestartet von seit bereitgestellt debut "
    "cree creee demarrage demarre lance lancement depuis inicio comienzo creado creada "
    "creacion alta arranque lanzado desde iniciado inizio iniziato iniziata creato creata "
    "creazione avvio avviato attivazione dal criado criada criacao aangemaakt gestart "
    "begintijd aanmaak utworzono utworzenia rozpoczecie rozpoczecia poczatek uruchomienie "
    "uruchomiono skapad startad oprettet opprettet luotu alkoi aloitus baslangic olusturma "
    "vytvoreno zacatek spusteno начало начат создан создано создания запуск запущен старт "
    "开始 创建 启动 開始 作成 起動 建立 시작 생성 provision bereitstellung bereit erstell "
    "anlage uruchom utworz rozpocz poczat vytvor spust skapa starta opret opprett inicia "
    "comien avvia attiva aangemaak ingebruik olustur baslan mise provisionnement запущ начал "
    "启用 开通 購入 订购 発行 開設"
)
FINISH = (
    "end ended finish finished terminate terminated termination delete deleted deletion stop "
    "stopped destroyed removed completed completion shutdown retired expiry ende bis beendet "
    "geloscht loschdatum loschung gestoppt abgeschlossen fertig stillgelegt fin termine "
    "terminee suppression supprime supprimee arret arrete jusqu final eliminado eliminada "
    "eliminacion borrado baja terminado finalizado hasta apagado fine finito finita terminato "
    "terminata cancellato eliminato dismesso dismissione cessazione termino encerrado "
    "encerramento excluido exclusao removido einde eindtijd beeindigd verwijderd gestopt "
    "koniec zakonczenie zakonczenia zakonczono usunieto usuniecia slut raderad avslutad "
    "slettet avsluttet paattyi poistettu bitis silinme konec ukonceno smazano конец окончание "
    "завершен завершено удален удалено удаления остановлен 结束 删除 停止 终止 释放 完成 終了 "
    "削除 結束 종료 삭제 완료 decommission decom removal remov deprovision retire delet "
    "abschalt ausserbetrieb stilleg supprim resili elimin cancellaz rimozion exclus deslig "
    "encerr verwijder beeindig usuni zakoncz wylacz smaz ukonc zrus radera avsluta slett "
    "avslutt silinm kapat удал заверш останов 下线 退役 回收 停用 廃止 到期 解約"
)
SUBMITTED = (
    "submit submitted submission queued enqueued requested eingereicht abgeschickt "
    "eingestellt eingereiht soumis soumission envoye depose enviado enviada envio encolado "
    "inviato inviata sottomesso sottomissione submetido ingediend zgloszono zgloszenia "
    "wyslano inskickad отправлен отправки поставлен постановки подан 提交 投入 제출"
)
LENGTH = (
    "duration elapsed lifetime runtime walltime uptime latency dur dauer laufzeit "
    "ausfuhrungszeit duree duracion duracao durata durat duur looptijd czas_trwania trwania "
    "varaktighet varighet kesto sure suresi trvani длительность продолжительность 时长 耗时 "
    "持续 运行时间 所要時間 実行時間 期間 지속 소요"
)
CORES = (
    "cpu cpus vcpu vcpus core cores kern kerne prozessor prozessoren prozessorkerne coeur "
    "coeurs noyaux processeur processeurs nucleo nucleos procesador procesadores processore "
    "processori processador processadores processor processors rdzen rdzenie rdzeni procesor "
    "procesory karnor kjerner kerner ytimet ytimia cekirdek jadra jader ядро ядра ядер "
    "процессор процессоров 核 核数 コア 处理器 處理器 코어 nuclei nucleu ядр karn kjern "
    "cekird kernen processorkernen"
)
MEMORY = (
    "memory mem ram arbeitsspeicher hauptspeicher speicher memoire memoria geheugen "
    "werkgeheugen pamiec pamieci minne muisti bellek pamet память памяти озу 内存 記憶 メモリ "
    "記憶體 메모리"
)
USERS = (
    "user owner project tenant account team namespace besitzer benutzer eigentumer kunde "
    "kostenstelle utilisateur proprietaire projet usuario propietario proyecto utente "
    "proprietario progetto projeto gebruiker eigenaar uzytkownik wlasciciel пользователь "
    "владелец проект 用户 項目 项目 ユーザー ユーザ 所有者 命名空间 사용자"
)
NAMES = (
    "id name uuid hostname server servername instance identifier bezeichnung kennung nom "
    "identifiant nombre identificador nome identificatore naam nazwa identyfikator navn namn "
    "nimi isim nazev имя название идентификатор 名称 名前 编号 編号 標識 标识 이름 rechner "
    "rechnername maschine maquina macchina sunucu adi ordinateur"
)
JOBS = (
    "job auftrag auftragsnummer stapelauftrag rechenauftrag tache travail trabajo tarea "
    "lavoro tarefa taak zadanie zadania задача задание 作业 任务 ジョブ 작업"
)
TIMES = (
    "time timestamp date datetime minute hour zeit zeitpunkt zeitstempel uhrzeit datum "
    "horodatage heure fecha hora momento marca data orario istante ora tempo tijd tijdstip "
    "tijdstempel czas godzina tid tidpunkt tidspunkt aika zaman tarih cas время дата момент "
    "时间 时刻 日期 時刻 日時 時間 시간 일시"
)
COUNTS = (
    "request requests hits calls invocations anfragen aufrufe zugriffe anzahl requete "
    "requetes appels peticiones solicitudes llamadas richieste chiamate requisicoes pedidos "
    "chamadas verzoeken aanvragen aantal zadan zapytania zapytan liczba anrop forfragningar "
    "antal pyynnot istek pozadavky запрос запросы запросов вызовы вызовов количество число "
    "请求 次数 调用 リクエスト 件数 回数 請求 요청 hit count req reqs rpm pozadavku pozadav "
    "istekler volume throughput"
)
FUNCTIONS = (
    "function func fn lambda handler funktion funktionsname fonction funcion funzione funcao "
    "functie funkcja funkce funksjon функция функции 函数 関数 함수"
)
NODES = (
    "node nodes nnodes knoten rechenknoten noeud noeuds nodo nodos nodi wezly wezlow узлы "
    "узлов 节点 ノード"
)
LIMITS = (
    "timelimit limit zeitlimit zeitgrenze zeitbegrenzung limite maxlaufzeit angefordert "
    "demande limiet лимит 限制 上限"
)
STATES = (
    "state status zustand etat estado stato toestand stan статус состояние 状态 狀態 状態 "
    "ステータス 상태"
)
INTENSITY = (
    "carbon co2 intensity intensitat intensite intensidad intensita emissionsfaktor углерод 碳"
)
MACHINES = (
    "vm vms server servers servername instance instances instanz maschine maschinenname "
    "serveur serveurs servidor servidores istanza macchina maquina instancia machine "
    "wirtualna serwer maszyna сервер виртуальная машина 虚拟机 云主机 主机 服务器 サーバ "
    "サーバー 仮想マシン 서버 pod pods container namespace replicaset 命名空间 容器 podname "
    "powerstate flavor hypervisor rechner rechnername sunucu vytvoreni serveru host hostname"
)
USED = (
    "usage used use util utilization utilisation percent percentage pct prozent load avg "
    "average mean auslastung nutzung genutzt belegt verbrauch consomme utilisee uso usato "
    "usada utilizado utilizzo consumo gebruik zuzycie использовано загрузка 使用率 使用量 "
    "利用率 占用 사용률 peak max ready time zeit temps model ghz mhz typ type utilizacion "
    "carga"
)
"""Words that say that an amount is not what is asked for, but what is used of it."""
LATER = (
    "update updated modified geandert aktualisiert modifie modificado modificato last letzte "
    "seen gewijzigd"
)
"""Words of times at which something else happened."""
NO_END = tuple(
    plain(f"{BEGIN} {SUBMITTED} {LATER} on login backup snapshot patched checked scan boot").split()
)
"""Words of times that are no end, though they come after a start."""
FAILURES = (
    "error errors fehler erreur erreurs errores errori failed failures bytes latency 错误 "
    "ошибки 5xx 4xx"
)
WORDS: dict[tuple[str, str], tuple[str, ...]] = {}
"""A column's words by kind (``*`` for any) and role, and behind ``-`` those it has not."""
for _role, _words, _never in (
    (("*", "start"), BEGIN, FINISH + " " + LATER + " " + SUBMITTED),
    (("*", "end"), FINISH, LATER),
    (("*", "submit"), SUBMITTED, LATER + " " + LIMITS),
    (("*", "duration"), LENGTH, LIMITS),
    (("*", "cores"), CORES, USED + " " + LIMITS + " " + MEMORY),
    (("*", "memory"), MEMORY, USED.replace(" max ", " ")),
    (("*", "user"), USERS, ""),
    (("*", "id"), NAMES, USERS + " " + FUNCTIONS),
    (("vm", "id"), NAMES + " " + MACHINES, USERS),
    (("jobs", "id"), JOBS + " " + NAMES, USERS + " " + STATES),
    (("*", "time"), TIMES + " " + BEGIN, LATER + " " + LENGTH + " " + FINISH),
    (("*", "count"), COUNTS, FAILURES),
    (("*", "function"), FUNCTIONS, ""),
    (("*", "nodes"), NODES, USED),
    (("*", "gpus"), "gpu gpus", USED),
    (("*", "estimate"), LIMITS, ""),
    (("*", "state"), STATES, ""),
    (("*", "intensity"), INTENSITY, ""),
):
    WORDS[_role] = tuple(dict.fromkeys(plain(_words).split()))
    WORDS[(_role[0], f"{_role[1]}-")] = tuple(dict.fromkeys(plain(_never).split()))

HINTS = {"vm": tuple(plain(MACHINES).split()), "jobs": tuple(plain(JOBS).split())}
"""Words within names of columns that speak for a kind."""


def parts_of(name: str) -> list[str]:
    """The words of a column's name: ``Erstellt am`` is erstellt, am."""
    name = re.sub("[vV]?CPU([sS]?)", lambda found: found[0].capitalize(), name)
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    apart = re.sub(r"(?<=[ -~])(?=[^\x00-\u2e7f])|(?<=[^\x00-\u2e7f])(?=[ -~])", " ", plain(spaced))
    return [part for part in re.split(r"[\W_]+", apart) if part]


def fit(name: str, words: tuple[str, ...]) -> int:
    """How many letters of a name the longest word has that it says; 0 if it says none.

    A whole word counts for one letter more.
    """
    found, best = parts_of(name), 0
    for word in words:
        for part in found:
            if part == word:
                best = max(best, len(word) + 1)
            elif _within(word, part):
                best = max(best, len(word))
    return best


def _within(word: str, part: str) -> bool:
    """Whether a longer part of a name says a word."""
    if not word.isascii():
        return part.startswith(word) if _has_spaces(word) else word in part
    if len(word) < 5:
        return False
    return part.startswith(word) or part.endswith(word) or (len(word) >= 6 and word in part)


def _has_spaces(word: str) -> bool:
    """Whether the script of a word puts spaces between words: Cyrillic, not Chinese."""
    return ord(word[0]) < 0x2E80


def score(kind: str, role: str, name: str) -> int:
    """How well a column's name says a role; 0 if it does not."""
    says = WORDS.get((kind, role)) or WORDS.get(("*", role), ())
    never = WORDS.get((kind, f"{role}-"), WORDS.get(("*", f"{role}-"), ()))
    if "%" in name and role in ("cores", "memory"):
        return 0
    if role == "cpu_percent":  # CPU %, CPU-Auslastung
        is_used = "%" in name or fit(name, WORDS[("*", "cores-")])
        return fit(name, WORDS[("*", "cores")]) if is_used else 0
    return 0 if fit(name, never) else fit(name, says)


def hints(kind: str, name: str) -> bool:
    """Whether a column's name speaks for a kind."""
    return bool(fit(name, HINTS.get(kind, ())))


def known_words(text: str) -> int:
    """How many of a text's words with letters beyond ASCII are known here."""
    parts = {
        part
        for word in re.split(r"[\s;,|\"]+", text)
        if not word.isascii()
        for part in parts_of(word)
    }
    words = {word for key, found in WORDS.items() if not key[1].endswith("-") for word in found}
    words |= {word for found in HINTS.values() for word in found}
    accented = {part for part in parts if len(part) > 1}
    return sum(
        part in words or any(not word.isascii() and word in part for word in words if len(word) > 1)
        for part in accented
    )
