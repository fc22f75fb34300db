import pytest
import yaml

import cloudarena
from cloudarena import catalogue
from cloudarena.base.errors import SpecError


def spec(**changes):
    base = {
        "scenario": "vm",
        "ticks": 4,
        "machines": [{"count": 1, "cores": 4, "memory_gb": 16}],
        "workload": {
            "source": "inline",
            "vms": [{"created": 0, "lifetime": 2, "cores": 2, "memory_gb": 8}],
        },
    }
    return {**base, **changes}


@pytest.mark.parametrize("name", catalogue.names())
def test_every_entry_loads_and_says_what_it_is(name):
    scenario = cloudarena.load(name)
    assert scenario.name == name
    assert name.startswith(scenario.kind.name + "/")
    description = scenario.description
    assert description
    assert catalogue.descriptions()[name] == " ".join(description.split())


def test_the_catalogue_has_the_promised_entries():
    assert {
        "vm/azure-like-10k",
        "vm/azure-like-10k-16c",
        "vm/azure-like-10k-oversubscribed",
        "vm/azure-like-336k",
        "vm/toy",
    } <= set(catalogue.names())


def test_a_spec_has_the_documented_defaults():
    scenario = cloudarena.load(spec())
    assert scenario.tick_seconds == 300
    assert scenario.oversubscription.model_dump() == {"cpu": 1, "memory": 1, "utilisation": 1}
    assert scenario.overload == "record"
    assert scenario.buffer.model_dump() == {"budget_ticks": 0, "delay_ticks": 1}
    assert scenario.prices.model_dump() == {
        "core_hour_usd": 0.0698,
        "gb_hour_usd": 0.0078,
        "kwh_usd": 0.07,
        "pue": 1.7,
        "carbon_g_per_kwh": 300.0,
        "carbon_tonne_usd": 0.0,
        "unserved_usd": 0.0,
    }
    power = {"idle_w": 120, "busy_w": 185, "r": 1.4, "boot_w": None, "off_w": 0}
    assert scenario.machines[0].power.model_dump() == power
    assert scenario.off_after_ticks is None
    assert scenario.boot_ticks == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machines": [{"count": 1, "cores": 0, "memory_gb": 1}]},
         r"machines\[0\]\.cores: 0 is not allowed: at least 1e-06"),
        ({"machines": [{"count": 0, "cores": 1, "memory_gb": 1}]},
         r"machines\[0\]\.count: 0 is not allowed: at least 1"),
        ({"machines": []}, r"machines: \(\) is not allowed: at least 1 entries|machines: \[\] is"),
        ({"machnes": []}, r"unknown key 'machnes'\. Did you mean 'machines'\?"),
        ({"buffer": {"budget": 3}},
         r"buffer: unknown key 'budget'\. Did you mean 'budget_ticks'\?"),
        ({"overload": "shrug"}, r"overload: 'shrug' is not allowed: one of 'record' or 'kill'"),
        ({"scenario": "vn"}, r"scenario: 'vn' is not allowed: one of .*Did you mean 'vm'\?"),
        ({"ticks": "many"}, r"ticks: 'many' is not allowed: a whole number"),
        ({"ticks": 1.5}, r"ticks: 1.5 is not allowed: a whole number"),
        ({"tick_seconds": float("nan")}, r"tick_seconds: nan is not allowed: a finite number"),
        ({"workload": {"source": "azure-lik", "vms": 3}},
         r"workload\.source: 'azure-lik' is not allowed: .*Did you mean 'azure-like'\?"),
        ({"workload": {"vms": 3}}, r"workload\.source: is required"),
        ({"workload": {"source": "azure-like"}}, r"workload\.vms: is required"),
        ({"workload": {"source": "azure-like", "vms": 0}},
         r"workload\.vms: 0 is not allowed: at least 1"),
        ({"prices": {"pue": 0.5}}, r"prices\.pue: 0.5 is not allowed: at least 1"),
        ({"machines": [{"count": 1, "cores": 1, "memory_gb": 1,
                        "power": {"idle_w": 9, "busy_w": 1}}]},
         r"busy_w: 1 is not allowed: at least idle_w, 9"),
    ],
)  # fmt: skip
def test_an_error_names_field_value_and_what_is_allowed(change, message):
    with pytest.raises(SpecError, match=message):
        cloudarena.load(spec(**change))


def test_inline_vms_must_come_in_order_of_arrival():
    vm = {"lifetime": 1, "cores": 1, "memory_gb": 1}
    workload = {"source": "inline", "vms": [{**vm, "created": 3}, {**vm, "created": 1}]}
    with pytest.raises(SpecError, match=r"vms\[1\]\.created: 1 is not allowed: at least 3"):
        cloudarena.load(spec(workload=workload))


def test_a_name_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(SpecError, match="Did you mean 'vm/azure-like-10k'"):
        cloudarena.load("vm/azure-like-10")


def test_a_yaml_error_names_the_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("scenario: vm\nticks: [1\n")
    with pytest.raises(SpecError, match=r"bad\.yaml, line 3"):
        cloudarena.load(path)


def test_a_key_that_stands_twice_is_an_error_and_not_a_lost_value(tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("scenario: vm\nticks: 3\nticks: 4\n")
    with pytest.raises(SpecError, match=r"twice\.yaml, line 3: key 'ticks' is a duplicate"):
        cloudarena.load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scenario: vm\n? [a]\n: 3\n", "line 2: a key is not allowed to be a list or a mapping"),
        ("scenario: vm\n? {a: 1}\n: 3\n", "line 2: a key is not allowed to be a list"),
        ("scenario: vm\nticks: \x00\n", "line 2: special characters are not allowed"),
        ("a: " + "[" * 5000, "line 1: there are too many lists in lists"),
    ],
)
def test_any_yaml_that_cannot_be_read_is_one_line(tmp_path, text, words):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=words) as raised:
        cloudarena.load(path)
    assert "\n" not in str(raised.value)


def test_a_number_may_be_written_with_an_exponent(tmp_path):
    path = tmp_path / "spec.yaml"
    text = yaml.safe_dump(spec(ticks="TICKS", tick_seconds="SECONDS"))
    path.write_text(text.replace("TICKS", "2e1").replace("SECONDS", "+1.5E3"))
    scenario = cloudarena.load(path, ["series_every=1e1"])
    assert (scenario.ticks, scenario.tick_seconds, scenario.series_every) == (20, 1500.0, 10)


@pytest.mark.parametrize("key", ["ticks", "tick_seconds", "workload.vms[0].cores"])
def test_a_truth_value_is_no_number(key):
    with pytest.raises(SpecError, match=f"{key.rpartition('.')[2]}: True is not allowed: a number"):
        cloudarena.load(spec(), [f"{key}=yes"])


def test_an_override_needs_the_name_of_a_key():
    with pytest.raises(SpecError, match=r"--set \.: is not the name of a key"):
        cloudarena.load(spec(), [".=4"])


def test_paths_in_a_spec_start_from_its_file(tmp_path, monkeypatch):
    path = tmp_path / "spec.yaml"
    files = {"source": "files", "vmtable": "vmtable.csv", "readings": "readings.csv"}
    path.write_text(yaml.safe_dump(spec(workload=files)))
    (tmp_path / "vmtable.csv").write_text(
        "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,vmcategory,vmcorecountbucket,"
        "vmmemorybucket,lifetime\n7,1,1,0,1,2,2,4,2\n"
    )
    (tmp_path / "readings.csv").write_text("timestamp,vmid,maxcpu\n0,7,50\n1,7,100\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = cloudarena.simulate(path)
    assert result.metrics["completed"] == 1
    assert result.tables["vms"]["vm"].to_pylist() == [7]


def test_overrides_reach_into_lists_and_mappings():
    changes = ["machines[0].count=3", "buffer.budget_ticks=6", "overload=kill"]
    scenario = cloudarena.load("vm/toy", changes)
    assert scenario.machine_count == 3
    assert scenario.buffer.budget_ticks == 6
    assert scenario.overload == "kill"
    assert cloudarena.load("vm/toy").machine_count == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("machines[4].count=3", r"--set machines\[4\]\.count: there is no 4"),
        ("nothing", r"--set 'nothing' is not allowed: key=value"),
        ("ticks.deep=3", "there is no 'deep'"),
        ("tick=3", r"unknown key 'tick'\. Did you mean 'ticks'"),
    ],
)
def test_overrides_that_lead_nowhere_say_so(change, message):
    with pytest.raises(SpecError, match=message):
        cloudarena.load("vm/toy", [change])


def test_loading_a_dict_leaves_it_as_it_was():
    data = spec()
    cloudarena.load(data, ["machines[0].count=9"])
    assert data == spec()


def test_a_wrong_entry_does_not_make_its_list_too_short():
    with pytest.raises(SpecError) as error:
        cloudarena.load(spec(machines=[{"count": 1, "cores": 0, "memory_gb": 1}]))
    assert len(str(error.value).splitlines()) == 1
