import { isHugePages, isOvercommitAllowed } from './compute-resources.ts';
import {
  type Container,
  type HTTPGetAction,
  type LifecycleHandler,
  type PodSpec,
  type PodTemplateSpec,
  type Probe,
  type ResourceRequirements,
  type Volume,
  containerAmounts,
  isPodLevelResource,
} from '@gantry/objects';

const DEFAULT_FILE_MODE = 0o644;
const TOKEN_EXPIRATION_SECONDS = 3600;

/** `value`, or `fallback` for Go's zero value. */
function orElse<T extends string | number>(value: T | undefined, fallback: T): T {
  return value === undefined || value === '' || value === 0 ? fallback : value;
}

/** Defaults of the pod spec in a template; Kubernetes sets fewer than in a Pod. */
export function defaultPodTemplate(template: PodTemplateSpec | undefined): void {
  if (template?.spec !== undefined) defaultPodSpec(template.spec);
}

/** Defaults that pods and templates share. Idempotent. */
export function defaultPodSpec(spec: PodSpec): void {
  spec.dnsPolicy = orElse(spec.dnsPolicy, 'ClusterFirst');
  spec.restartPolicy = orElse(spec.restartPolicy, 'Always');
  spec.schedulerName = orElse(spec.schedulerName, 'default-scheduler');
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  defaultServiceAccount(spec);
  for (const container of containersOf(spec)) defaultContainer(container);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
}

/** `serviceAccount` is the old name of `serviceAccountName`; responses always have both. */
function defaultServiceAccount(spec: PodSpec): void {
  const name = orElse(spec.serviceAccountName, spec.serviceAccount ?? '');
  if (name === '') return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

/** Defaults of Pods only. */
export function defaultPodOnly(spec: PodSpec): void {
  spec.enableServiceLinks ??= true;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    defaultRequests(container.resources);
    if (spec.hostNetwork === true) {
      for (const port of container.ports ?? []) port.hostPort = orElse(port.hostPort, port.containerPort);
    }
  }
  defaultPodResources(spec);
}

/** The limit is the default of a missing request. */
function defaultRequests(resources: ResourceRequirements | undefined): void {
  const limits = Object.entries(resources?.limits ?? {});
  if (resources === undefined || limits.length === 0) return;
  const requests = { ...resources.requests };
  for (const [name, amount] of limits) requests[name] ??= amount;
  resources.requests = requests;
}

/**
 * Defaults of pod-level resources. Limits of huge pages default to the sum of the containers' limits. If there are limits, requests default
 * to the sum of the containers' requests, else to the limits.
 */
function defaultPodResources(spec: PodSpec): void {
  const { resources } = spec;
  if (resources === undefined) return;
  const asked = [...Object.keys(resources.limits ?? {}), ...Object.keys(resources.requests ?? {})];
  if (asked.length === 0) return;
  const limits = { ...resources.limits };
  for (const [name, amount] of Object.entries(containerAmounts(spec, 'limits'))) {
    if (isHugePages(name) && resources.requests?.[name] === undefined) limits[name] ??= amount;
  }
  if (Object.keys(limits).length === 0) return;
  const requests = { ...resources.requests };
  for (const [name, amount] of Object.entries(containerAmounts(spec, 'requests'))) {
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) requests[name] ??= amount;
  }
  for (const [name, amount] of Object.entries(limits)) if (isPodLevelResource(name)) requests[name] ??= amount;
  resources.limits = limits;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

function containersOf(spec: PodSpec): Container[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as Container[]),
  ];
}

function defaultContainer(container: Container): void {
  container.imagePullPolicy = orElse(container.imagePullPolicy, defaultPullPolicy(container.image ?? ''));
  container.terminationMessagePath = orElse(container.terminationMessagePath, '/dev/termination-log');
  container.terminationMessagePolicy = orElse(container.terminationMessagePolicy, 'File');
  for (const port of container.ports ?? []) port.protocol = orElse(port.protocol, 'TCP');
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion = orElse(valueFrom.fieldRef.apiVersion, 'v1');
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) defaultProbe(probe);
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop]) defaultHandler(handler);
}

const IMAGE_COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const IMAGE_REFERENCE = new RegExp(
  `^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?/)?(${IMAGE_COMPONENT}(?:/${IMAGE_COMPONENT})*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,})?$`,
);
const IMAGE_ID = /^[a-f0-9]{64}$/;
const MAX_IMAGE_NAME = 237;

/** Images without a tag or with the tag `latest` are always pulled. An invalid image name counts as tagged. */
export function defaultPullPolicy(image: string): string {
  const parts = IMAGE_REFERENCE.exec(image);
  if (parts === null || IMAGE_ID.test(image)) return 'IfNotPresent';
  const [, path = '', tag, digest] = parts;
  if (path.length > MAX_IMAGE_NAME) return 'IfNotPresent';
  return (tag ?? (digest === undefined ? 'latest' : '')) === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds = orElse(probe.timeoutSeconds, 1);
  probe.periodSeconds = orElse(probe.periodSeconds, 10);
  probe.successThreshold = orElse(probe.successThreshold, 1);
  probe.failureThreshold = orElse(probe.failureThreshold, 3);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
  defaultHttpGet(probe.httpGet);
}

function defaultHandler(handler: LifecycleHandler | undefined): void {
  defaultHttpGet(handler?.httpGet);
}

function defaultHttpGet(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path = orElse(action.path, '/');
  action.scheme = orElse(action.scheme, 'HTTP');
}

function defaultVolume(volume: Volume): void {
  const sources = Object.entries(volume).filter(([key, value]) => key !== 'name' && value !== undefined);
  if (sources.length === 0) volume.emptyDir = {};
  for (const source of [volume.configMap, volume.secret, volume.downwardAPI, volume.projected]) {
    if (source !== undefined) source.defaultMode ??= DEFAULT_FILE_MODE;
  }
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.image !== undefined) {
    volume.image.pullPolicy = orElse(volume.image.pullPolicy, defaultPullPolicy(volume.image.reference ?? ''));
  }
  for (const item of [...(volume.downwardAPI?.items ?? []), ...projectedFields(volume)]) {
    if (item.fieldRef !== undefined) item.fieldRef.apiVersion = orElse(item.fieldRef.apiVersion, 'v1');
  }
  for (const { serviceAccountToken: token } of volume.projected?.sources ?? []) {
    if (token !== undefined) token.expirationSeconds ??= TOKEN_EXPIRATION_SECONDS;
  }
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode = orElse(claim.volumeMode, 'Filesystem');
  defaultRetiredVolumes(volume);
}

function projectedFields(volume: Volume) {
  return (volume.projected?.sources ?? []).flatMap((source) => source.downwardAPI?.items ?? []);
}

/** Defaults of volume types whose drivers are no longer supported. */
function defaultRetiredVolumes({ iscsi, rbd, azureDisk, scaleIO }: Volume): void {
  if (iscsi !== undefined) iscsi.iscsiInterface = orElse(iscsi.iscsiInterface, 'default');
  if (rbd !== undefined) {
    rbd.pool = orElse(rbd.pool, 'rbd');
    rbd.user = orElse(rbd.user, 'admin');
    rbd.keyring = orElse(rbd.keyring, '/etc/ceph/keyring');
  }
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.kind ??= 'Shared';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
  }
  if (scaleIO !== undefined) {
    scaleIO.storageMode = orElse(scaleIO.storageMode, 'ThinProvisioned');
    scaleIO.fsType = orElse(scaleIO.fsType, 'xfs');
  }
}
