"""JMeter's test plans: texts that it reads, of threads that share proxies or of one client that waits.

Ids: JM-02 clients that cannot be shared.
"""

from __future__ import annotations

from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from bmwg.methodology.errors import ConfigError

WARM_UP, GET, BEGIN = "warm_up", "get", "begin"  # labels of samples
BEGIN_PATH = "/begin/"  # before a client's number
_TIMEOUT_MS = 30_000
_GROUP = """\
<{kind} guiclass="{kind}Gui" testclass="{kind}" testname="proxy {number}">
<stringProp name="ThreadGroup.on_sample_error">continue</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp>
<stringProp name="LoopController.loops">{loops}</stringProp>
</elementProp>
<stringProp name="ThreadGroup.num_threads">{threads}</stringProp>
<stringProp name="ThreadGroup.ramp_time">0</stringProp>
</{kind}>
<hashTree>
{inside}</hashTree>
"""
_SAMPLER = """\
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="{label}">
<elementProp name="HTTPsampler.Arguments" elementType="Arguments">
<collectionProp name="Arguments.arguments"/>
</elementProp>
<stringProp name="HTTPSampler.domain">{host}</stringProp>
<stringProp name="HTTPSampler.port">{port}</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp>
<stringProp name="HTTPSampler.path">{path}</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp>
<boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<stringProp name="HTTPSampler.implementation">HttpClient4</stringProp>
{proxy}<stringProp name="HTTPSampler.connect_timeout">{timeout_ms}</stringProp>
<stringProp name="HTTPSampler.response_timeout">{response_ms}</stringProp>
</HTTPSamplerProxy>
<hashTree>
{inside}</hashTree>
"""
_PROXY = """\
<stringProp name="HTTPSampler.proxyHost">{address}</stringProp>
<stringProp name="HTTPSampler.proxyPort">{port}</stringProp>
"""
_MD5 = """\
<MD5HexAssertion guiclass="MD5HexAssertionGUI" testclass="MD5HexAssertion" testname="body">
<stringProp name="MD5HexAssertion.size">{md5}</stringProp>
</MD5HexAssertion>
<hashTree/>
"""
_ONCE_BEGUN = """\
<IfController guiclass="IfControllerPanel" testclass="IfController" testname="let go">
<stringProp name="IfController.condition">${{JMeterThread.last_sample_ok}}</stringProp>
<boolProp name="IfController.evaluateAll">false</boolProp>
<boolProp name="IfController.useExpression">true</boolProp>
</IfController>
<hashTree>
<LoopController guiclass="LoopControlPanel" testclass="LoopController" testname="requests">
<boolProp name="LoopController.continue_forever">false</boolProp>
<stringProp name="LoopController.loops">{loops}</stringProp>
</LoopController>
<hashTree>
{inside}</hashTree>
</hashTree>
"""
_PLAN = """\
<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0">
<hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="proxies">
<elementProp name="TestPlan.user_defined_variables" elementType="Arguments">
<collectionProp name="Arguments.arguments"/>
</elementProp>
<boolProp name="TestPlan.functional_mode">false</boolProp>
<boolProp name="TestPlan.serialize_threadgroups">false</boolProp>
</TestPlan>
<hashTree>
{groups}</hashTree>
</hashTree>
</jmeterTestPlan>
"""


def plan(
    *,
    proxies: list[tuple[str, int]],
    url: str,
    md5: str,
    requests: int,
    clients: int,
    warm_up_requests: int = 0,
) -> str:
    """Write a test plan: one group of threads for each proxy, all groups alike. Raises ConfigError JM-02.

    Warm-up requests are sent by groups of their own, which JMeter ends before it begins with the others.
    """
    left = (clients % len(proxies), requests % clients, warm_up_requests % clients)
    if any(left):
        raise ConfigError(
            "JM-02",
            f"{clients} clients of {requests} requests on {len(proxies)} proxies",
            expected="clients that the proxies share equally, and requests that the clients do",
            found=f"remainders {', '.join(map(str, left))}",
        )
    groups = [
        _group(
            _get(label, url, md5, proxy),
            setup=label == WARM_UP,
            number=number,
            loops=count // clients,
            threads=clients // len(proxies),
        )
        for label, count in ((WARM_UP, warm_up_requests), (GET, requests))
        if count
        for number, proxy in enumerate(proxies)
    ]
    return _PLAN.format(groups="".join(groups))


def own_plan(
    *,
    number: int,
    proxy: tuple[str, int],
    gate: tuple[str, int],
    url: str,
    md5: str,
    requests: int,
    warm_up_requests: int = 0,
) -> str:
    """Write the plan of one client: it warms up, asks the gate, and sends its requests once that answers.

    The gate may take as long as it likes. Without its answer, or with another than one of status 2xx or 3xx,
    nothing is sent.
    """
    asks = _sampler(BEGIN, f"http://{gate[0]}:{gate[1]}{BEGIN_PATH}{number}", response_ms="")
    begun = _ONCE_BEGUN.format(loops=requests, inside=_get(GET, url, md5, proxy))
    groups = [_group(asks + begun, setup=False, number=number, loops=1, threads=1)]
    if warm_up_requests:
        warm = _get(WARM_UP, url, md5, proxy)
        groups.insert(0, _group(warm, setup=True, number=number, loops=warm_up_requests, threads=1))
    return _PLAN.format(groups="".join(groups))


def _group(inside: str, *, setup: bool, number: int, loops: int, threads: int) -> str:
    kind = "SetupThreadGroup" if setup else "ThreadGroup"
    return _GROUP.format(kind=kind, number=number, loops=loops, threads=threads, inside=inside)


def _get(label: str, url: str, md5: str, proxy: tuple[str, int]) -> str:
    by = _PROXY.format(address=escape(proxy[0]), port=proxy[1])
    return _sampler(label, url, proxy=by, inside=_MD5.format(md5=md5))


def _sampler(
    label: str, url: str, *, proxy: str = "", inside: str = "", response_ms: int | str = _TIMEOUT_MS
) -> str:
    target = urlsplit(url)
    return _SAMPLER.format(
        label=label,
        host=escape(target.hostname or ""),
        port=target.port or 80,
        path=escape(target.path),
        proxy=proxy,
        timeout_ms=_TIMEOUT_MS,
        response_ms=response_ms,
        inside=inside,
    )
