"""Proves that Kubernetes' Python library works against a cluster: `prove.py KUBECONFIG NAMESPACE`.

Prints a JSON line for each proof and ends with 1 where one fails. The namespace must exist and be empty of what the proofs make.
"""

import json
import sys
import threading
import time

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

PROOFS = []


class Failure(Exception):
    """What was seen is not what must be."""


def proof(prove):
    """Registers a proof under its function's name."""
    PROOFS.append(prove)
    return prove


def check(holds, what):
    if not holds:
        raise Failure(what)


def refused(status, act):
    """The body of the refusal that a call must end with."""
    try:
        act()
    except ApiException as error:
        check(error.status == status, f"{error.status} instead of {status}: {error.body}")
        return json.loads(error.body)
    raise Failure(f"not refused with {status}")


def config_map(name, labels=None, data=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


class Cluster:
    def __init__(self, kubeconfig, namespace):
        self.api = config.new_client_from_config(kubeconfig)
        self.core = client.CoreV1Api(self.api)
        self.namespace = namespace
        self._dynamic = None

    @property
    def dynamic(self):
        if self._dynamic is None:
            self._dynamic = dynamic.DynamicClient(self.api)
        return self._dynamic


@proof
def discovery(cluster):
    version = client.VersionApi(cluster.api).get_code()
    groups = client.ApisApi(cluster.api).get_api_versions().groups
    resources = cluster.core.get_api_resources().resources
    check(len(groups) > 15, f"only {len(groups)} groups")
    check(any(one.name == "pods/eviction" for one in resources), "no pods/eviction")
    deployments = cluster.dynamic.resources.get(api_version="apps/v1", kind="Deployment")
    check(deployments.namespaced and "deploy" in deployments.short_names, "Deployment is not what it should be")
    return f"version {version.major}.{version.minor}"


@proof
def typed(cluster):
    pod = client.V1Pod(
        metadata=client.V1ObjectMeta(name="typed"),
        spec=client.V1PodSpec(scheduler_name="nobody", containers=[client.V1Container(name="c", image="nginx:1.7.9")]),
    )
    made = cluster.core.create_namespaced_pod(cluster.namespace, pod)
    check(made.status.phase == "Pending" and made.spec.restart_policy == "Always", "a pod without defaults")
    made.metadata.labels = {"changed": "yes"}
    changed = cluster.core.replace_namespaced_pod("typed", cluster.namespace, made)
    body = refused(409, lambda: cluster.core.replace_namespaced_pod("typed", cluster.namespace, made))
    check(body["reason"] == "Conflict", body)
    bad = client.V1Pod(metadata=client.V1ObjectMeta(name="bad"), spec=client.V1PodSpec(containers=[]))
    invalid = refused(422, lambda: cluster.core.create_namespaced_pod(cluster.namespace, bad))
    check(invalid["details"]["causes"][0]["field"] == "spec.containers", invalid)
    cluster.core.delete_namespaced_pod("typed", cluster.namespace, grace_period_seconds=0)
    refused(404, lambda: cluster.core.read_namespaced_pod("typed", cluster.namespace))
    return changed.metadata.labels["changed"]


@proof
def patches(cluster):
    cluster.core.create_namespaced_config_map(cluster.namespace, config_map("patched", data={"a": "1"}))
    api = dynamic_config_maps(cluster)

    def patch(content_type, body):
        where = {"name": "patched", "namespace": cluster.namespace}
        return api.patch(body=body, content_type=content_type, **where).to_dict()

    patch("application/merge-patch+json", {"data": {"a": None, "b": "2"}})
    test = {"op": "test", "path": "/data/b", "value": "2"}
    patch("application/json-patch+json", [test, {"op": "add", "path": "/data/c", "value": "3"}])
    strategic = {"metadata": {"labels": {"d": "4"}}, "data": {"$retainKeys": ["c"], "c": "5"}}
    last = patch("application/strategic-merge-patch+json", strategic)
    body = refused(422, lambda: patch("application/json-patch+json", [test]))
    check(body["reason"] == "Invalid", body)
    return json.dumps([last["data"], last["metadata"]["labels"]])


def dynamic_config_maps(cluster):
    # Without the prefix, the library asks every group that has a version v1, and fails if one has gone meanwhile.
    return cluster.dynamic.resources.get(prefix="api", api_version="v1", kind="ConfigMap")


@proof
def apply(cluster):
    api = dynamic_config_maps(cluster)

    def applied(value, manager, **options):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": value}}
        where = {"name": "applied", "namespace": cluster.namespace}
        return api.server_side_apply(body=body, field_manager=manager, **where, **options)

    applied("1", "one")
    try:
        applied("2", "two")
        raise Failure("no conflict")
    except ConflictError as conflict:
        cause = json.loads(conflict.body)["details"]["causes"][0]
    forced = applied("2", "two", force_conflicts=True).to_dict()
    managers = [entry["manager"] for entry in forced["metadata"]["managedFields"]]
    check(forced["data"]["a"] == "2" and managers == ["two"], f"managed by {managers}")
    return f"{cause['reason']}: {cause['message']} {cause['field']}"


@proof
def pagination(cluster):
    def listed(**options):
        return cluster.core.list_namespaced_config_map(cluster.namespace, label_selector="paged=yes", **options)

    for index in range(25):
        cluster.core.create_namespaced_config_map(cluster.namespace, config_map(f"page-{index:02}", {"paged": "yes"}))
    names, pages, more = [], 0, None
    while pages == 0 or more:
        page = listed(limit=7, _continue=more)
        names += [one.metadata.name for one in page.items]
        pages, more = pages + 1, page.metadata._continue
    check(names == [f"page-{index:02}" for index in range(25)], names)
    bad = refused(400, lambda: listed(limit=7, _continue="nonsense"))
    cluster.core.delete_collection_namespaced_config_map(cluster.namespace, label_selector="paged=yes")
    check(not listed().items, "deletecollection leaves some")
    return f"{len(names)} in {pages} pages; {bad['reason']}"


@proof
def dynamic_client(cluster):
    api = dynamic_config_maps(cluster)
    made = api.create(body={"metadata": {"generateName": "loose-"}, "data": {"a": "1"}}, namespace=cluster.namespace)
    changed = made.to_dict()
    changed["data"]["a"] = "2"
    api.replace(body=changed, namespace=cluster.namespace)
    found = api.get(namespace=cluster.namespace, field_selector=f"metadata.name={made.metadata.name}")
    check(len(found.items) == 1, f"{len(found.items)} items")
    api.delete(name=made.metadata.name, namespace=cluster.namespace)
    try:
        api.get(name=made.metadata.name, namespace=cluster.namespace)
        raise Failure("it is still there")
    except NotFoundError:
        return found.items[0].data.a


@proof
def watch_resume(cluster):
    """A watch that ends every second and goes on where it was misses nothing and repeats nothing."""
    total, since = 12, cluster.core.list_namespaced_config_map(cluster.namespace).metadata.resource_version

    def write():
        for index in range(total):
            one = config_map(f"resumed-{index:02}", {"resumed": "yes"})
            client.CoreV1Api(cluster.api).create_namespaced_config_map(cluster.namespace, one)
            time.sleep(0.25)

    writer = threading.Thread(target=write)
    writer.start()
    seen, connections, deadline = [], 0, time.monotonic() + 90
    while len(seen) < total and time.monotonic() < deadline:
        connections += 1
        options = {"label_selector": "resumed=yes", "resource_version": since, "timeout_seconds": 1}
        for event in watch.Watch().stream(cluster.core.list_namespaced_config_map, cluster.namespace, **options):
            seen.append((event["type"], event["object"].metadata.name))
            since = event["object"].metadata.resource_version
    writer.join()
    check(seen == [("ADDED", f"resumed-{index:02}") for index in range(total)], seen)
    check(connections > 1, "one connection")
    return f"{len(seen)} events"


@proof
def custom_resources(cluster):
    group = f"{cluster.namespace}.py.example.com"
    name = f"gadgets.{group}"
    definitions, custom = client.ApiextensionsV1Api(cluster.api), client.CustomObjectsApi(cluster.api)
    size = {"type": "integer", "minimum": 1, "default": 3}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": size}},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": group, "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"}}
    spec["versions"] = [{**version, "subresources": {"status": {}}}]
    definitions.create_custom_resource_definition({"metadata": {"name": name}, "spec": spec})
    try:
        established(definitions, name)
        where = (group, "v1", cluster.namespace, "gadgets")
        gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"pruned": True}}
        made = custom.create_namespaced_custom_object(*where, gadget)
        check(made["spec"] == {"size": 3}, made["spec"])
        refused(422, lambda: custom.patch_namespaced_custom_object(*where, "g", {"spec": {"size": 0}}))
        custom.patch_namespaced_custom_object(*where, "g", {"spec": {"size": 5}})
        status = {"status": {"phase": "Done"}, "spec": {"size": 9}}
        custom.patch_namespaced_custom_object_status(*where, "g", status)
        gadgets = dynamic.DynamicClient(cluster.api).resources.get(api_version=f"{group}/v1", kind="Gadget")
        last = gadgets.get(name="g", namespace=cluster.namespace).to_dict()
        custom.delete_namespaced_custom_object(*where, "g")
        return f"{last['spec']['size']} {last['status']['phase']} {last['metadata']['generation']}"
    finally:
        definitions.delete_custom_resource_definition(name)


def established(definitions, name):
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        status = definitions.read_custom_resource_definition(name).status
        if any(one.type == "Established" and one.status == "True" for one in (status and status.conditions) or []):
            return
        time.sleep(0.05)
    raise Failure(f"{name} is never established")


@proof
def table(cluster):
    def listed(accept):
        answer = cluster.api.call_api(
            f"/api/v1/namespaces/{cluster.namespace}/configmaps",
            "GET",
            header_params={"Accept": accept},
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
        )
        return json.loads(answer.data)

    rows = listed("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    metadata = listed("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    check(rows["kind"] == "Table" and len(rows["rows"]) == len(metadata["items"]) > 0, rows["kind"])
    check(all(set(one) <= {"kind", "apiVersion", "metadata"} for one in metadata["items"]), "more than metadata")
    return " ".join(column["name"] for column in rows["columnDefinitions"])


@proof
def tokens(cluster):
    """A service account's token authenticates, and may do nothing that no role lets it do."""
    account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot"))
    cluster.core.create_namespaced_service_account(cluster.namespace, account)
    request = {"spec": {"audiences": [], "expirationSeconds": 600}}
    token = cluster.core.create_namespaced_service_account_token("robot", cluster.namespace, request).status.token
    review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    status = client.AuthenticationV1Api(cluster.api).create_token_review(review).status
    check(status.authenticated, status)
    settings = client.Configuration()
    settings.host, settings.ssl_ca_cert = cluster.api.configuration.host, cluster.api.configuration.ssl_ca_cert
    robot = client.ApiClient(settings, header_name="Authorization", header_value=f"Bearer {token}")
    body = refused(403, lambda: client.CoreV1Api(robot).list_namespaced_config_map(cluster.namespace))
    check("cannot list resource" in body["message"], body)
    return status.user.username.replace(cluster.namespace, "NAMESPACE")


def main(kubeconfig, namespace):
    cluster, failed = Cluster(kubeconfig, namespace), 0
    for prove in PROOFS:
        line = {"proof": prove.__name__.replace("_", "-")}
        try:
            line["seen"] = prove(cluster)
        except Exception as error:  # Every failure is told, and the other proofs go on.
            failed += 1
            line["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
