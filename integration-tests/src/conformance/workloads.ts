import type {
  V1Container,
  V1Deployment,
  V1Pod,
  V1PodSpec,
  V1PodTemplateSpec,
  V1ReplicaSet,
  V1ReplicationController,
} from '@kubernetes/client-node';

/** An image that every cluster of ours can run, and that does nothing. */
export const PAUSE = 'registry.k8s.io/pause:3.10';

export function container(change: Partial<V1Container> = {}): V1Container {
  return { name: 'main', image: PAUSE, ...change };
}

export function pod(name: string, spec: Partial<V1PodSpec> = {}, labels: Readonly<Record<string, string>> = {}): V1Pod {
  return { metadata: { name, labels: { ...labels } }, spec: { containers: [container()], ...spec } };
}

function template(labels: Readonly<Record<string, string>>): V1PodTemplateSpec {
  return { metadata: { labels: { ...labels } }, spec: { containers: [container()] } };
}

export function deployment(name: string, replicas: number): V1Deployment {
  const labels = { app: name };
  return {
    metadata: { name, labels },
    spec: { replicas, selector: { matchLabels: labels }, template: template(labels) },
  };
}

export function replicaSet(name: string, replicas: number): V1ReplicaSet {
  const labels = { app: name };
  return {
    metadata: { name, labels },
    spec: { replicas, selector: { matchLabels: labels }, template: template(labels) },
  };
}

export function replicationController(name: string, replicas: number): V1ReplicationController {
  const labels = { app: name };
  return { metadata: { name, labels }, spec: { replicas, selector: labels, template: template(labels) } };
}
