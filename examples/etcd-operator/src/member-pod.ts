import { controllerReference, type Pod } from '@gantry/operator';
import { CLUSTER_LABEL, CONTAINER, type EtcdCluster, PORTS, urlOf } from './etcd-cluster.ts';

const DATA = '/var/lib/etcd';
const CERTIFICATES = '/etc/etcd/tls';
const BACKUPS = '/backups';

type PodSpec = NonNullable<Pod['spec']>;
type Volume = NonNullable<PodSpec['volumes']>[number];
type Mount = NonNullable<PodSpec['containers'][number]['volumeMounts']>[number];

/** How a member begins: as the first one, or as one more of `peers`, which includes itself. */
export type Beginning = { readonly state: 'new' } | { readonly state: 'existing'; readonly peers: readonly string[] };

/** The pod of a member. Only the first one of a restored cluster begins with a backup. */
export function memberPod(cluster: EtcdCluster, name: string, beginning: Beginning): Pod {
  const { metadata, spec } = cluster;
  const restore = beginning.state === 'new' ? spec.restore : undefined;
  const peers = beginning.state === 'new' ? [name] : beginning.peers;
  const initial = [`--initial-cluster=${peers.map((one) => `${one}=${urlOf(cluster, one, 'peer')}`).join(',')}`];
  const advertised = `--initial-advertise-peer-urls=${urlOf(cluster, name, 'peer')}`;
  const [tlsFlags, tlsVolumes, tlsMounts] = tlsOf(cluster);
  const dataMount = { name: 'data', mountPath: DATA };
  const of = (ports: 'client' | 'peer') => `${spec.tls === undefined ? 'http' : 'https'}://0.0.0.0:${PORTS[ports]}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: { [CLUSTER_LABEL]: metadata.name ?? '' },
      ownerReferences: [controllerReference(cluster)],
    },
    spec: {
      // For the name NAME.CLUSTER.NAMESPACE.svc.
      hostname: name,
      subdomain: metadata.name ?? '',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(restore === undefined ? {} : { initContainers: [restoreContainer(cluster, name, initial)] }),
      containers: [
        {
          name: CONTAINER,
          image: spec.image,
          command: [
            'etcd',
            `--name=${name}`,
            `--data-dir=${DATA}/data`,
            `--listen-peer-urls=${of('peer')}`,
            advertised,
            `--listen-client-urls=${of('client')}`,
            `--advertise-client-urls=${urlOf(cluster, name, 'client')}`,
            `--listen-metrics-urls=http://0.0.0.0:${PORTS.metrics}`,
            `--initial-cluster-token=${metadata.uid}`,
            `--initial-cluster-state=${beginning.state}`,
            ...initial,
            ...tlsFlags,
          ],
          ports: Object.entries(PORTS).map(([port, containerPort]) => ({ name: port, containerPort })),
          // It serves linearizable reads: not as a learner, and not without a majority.
          readinessProbe: { httpGet: { path: '/health', port: 'metrics' }, periodSeconds: 2, timeoutSeconds: 2 },
          resources: { requests: { cpu: '50m', memory: '64Mi' } },
          volumeMounts: [dataMount, ...tlsMounts],
          ...CONFINED,
        },
      ],
      affinity: spread(metadata.name ?? ''),
      volumes: [
        { name: 'data', emptyDir: {} },
        ...tlsVolumes,
        ...(restore === undefined ? [] : [claimVolume(restore.claimName)]),
      ],
    },
  };

  function restoreContainer(of: EtcdCluster, member: string, flags: readonly string[]) {
    return {
      name: 'restore',
      image: of.spec.image,
      command: [
        'etcdutl',
        'snapshot',
        'restore',
        `${BACKUPS}/${restore?.file}`,
        `--name=${member}`,
        `--data-dir=${DATA}/data`,
        advertised,
        `--initial-cluster-token=${of.metadata.uid}`,
        ...flags,
        // Clients that watch notice that it is another history.
        '--bump-revision=1000000000',
        '--mark-compacted',
      ],
      volumeMounts: [dataMount, { name: 'backups', mountPath: BACKUPS, readOnly: true }],
      ...CONFINED,
    };
  }
}

const CONFINED = {
  securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
};

export function claimVolume(claimName: string): Volume {
  return { name: 'backups', persistentVolumeClaim: { claimName } };
}

/** Flags of etcd, volumes and mounts for the certificates. */
function tlsOf({ spec }: EtcdCluster): readonly [readonly string[], readonly Volume[], readonly Mount[]] {
  if (spec.tls === undefined) return [[], [], []];
  const files = [
    `cert-file=${CERTIFICATES}/tls.crt`,
    `key-file=${CERTIFICATES}/tls.key`,
    `trusted-ca-file=${CERTIFICATES}/ca.crt`,
  ];
  const flags = [...files, 'client-cert-auth'].flatMap((flag) => [`--${flag}`, `--peer-${flag}`]);
  return [flags, [secretVolume(spec.tls.secretName)], [CERTIFICATE_MOUNT]];
}

function secretVolume(secretName: string): Volume {
  return { name: 'tls', secret: { secretName, defaultMode: 0o440 } };
}

const CERTIFICATE_MOUNT = { name: 'tls', mountPath: CERTIFICATES, readOnly: true };

/** Members of one cluster on different nodes, where there are enough. */
function spread(cluster: string): NonNullable<PodSpec['affinity']> {
  const podAffinityTerm = {
    labelSelector: { matchLabels: { [CLUSTER_LABEL]: cluster } },
    topologyKey: 'kubernetes.io/hostname',
  };
  return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] } };
}

/** The pod that writes a backup into a file of the claim. */
export function backupPodSpec(cluster: EtcdCluster, claimName: string, file: string): PodSpec {
  const { metadata, spec } = cluster;
  const scheme = spec.tls === undefined ? 'http' : 'https';
  const endpoint = `${scheme}://${metadata.name}-client.${metadata.namespace}.svc:${PORTS.client}`;
  const tls = ['cert=tls.crt', 'key=tls.key', 'cacert=ca.crt'].map(
    (flag) => `--${flag.replace('=', `=${CERTIFICATES}/`)}`,
  );
  const flags = spec.tls === undefined ? [] : tls;
  return {
    restartPolicy: 'OnFailure',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'backup',
        image: spec.image,
        command: [
          'etcdctl',
          'snapshot',
          'save',
          `${BACKUPS}/${file}`,
          `--endpoints=${endpoint}`,
          '--command-timeout=10m',
          ...flags,
        ],
        volumeMounts: [{ name: 'backups', mountPath: BACKUPS }, ...(spec.tls === undefined ? [] : [CERTIFICATE_MOUNT])],
        ...CONFINED,
      },
    ],
    volumes: [claimVolume(claimName), ...(spec.tls === undefined ? [] : [secretVolume(spec.tls.secretName)])],
  };
}
