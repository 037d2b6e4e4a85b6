import type { ForwarderRuntime, ForwardedPort, ForwarderSpec } from '../runtime/forwarders.ts';
import { LABEL } from '../runtime/labels.ts';
import { createContainer } from './dial.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type Docker from 'dockerode';
import { LOG_CONFIG } from './options/resources.ts';

const LOOPBACK = '127.0.0.1';
/** Applies its first argument as nft rules in its own network namespace, then sleeps. */
const PROGRAM = `printf '%s' "$1" | nft -f - && exec sleep infinity`;

/** Forwarders as containers of a Docker engine. */
export function dockerForwarders(calls: EngineCalls): ForwarderRuntime {
  const remove = (id: string, signal: AbortSignal) =>
    idempotent(() =>
      calls.change(signal, (docker, abortSignal) =>
        docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
      ),
    );
  return {
    listForwarders: async (cluster, signal) => {
      try {
        const containers = await calls.read(signal, (docker, abortSignal) =>
          docker.listContainers({
            all: true,
            filters: { label: [`${LABEL.cluster}=${cluster}`, LABEL.forwarder] },
            abortSignal,
          }),
        );
        return containers.map(({ Id: id, Labels: labels, State: state }) => ({
          id,
          uid: labels[LABEL.forwarder] ?? '',
          hash: labels[LABEL.forwarderHash] ?? '',
          state: state === 'running' || state === 'restarting' ? 'running' : 'stopped',
        }));
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    startForwarder: async (spec, signal) => {
      try {
        const { id } = await calls.change(signal, (docker, abortSignal) =>
          createContainer(docker, forwarderOptions(spec), abortSignal),
        );
        try {
          await calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }));
        } catch (error) {
          // Remove the container even if the caller has aborted; otherwise its name would stay in use.
          await remove(id, new AbortController().signal);
          throw error;
        }
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    removeForwarder: remove,
  };
}

/**
 * The options of a forwarder's container. The kernel forwards packets in the container's network namespace without any process, and the
 * engine publishes the ports. The rules contain only numbers and addresses, no text of users.
 */
export function forwarderOptions(spec: ForwarderSpec): Docker.ContainerCreateOptions {
  const { cluster, namespace, name, uid, hash, image, network, ports } = spec;
  return {
    name: `gantry_forwarder_${name}_${namespace}_${uid}`,
    Image: image,
    Entrypoint: [],
    Cmd: ['sh', '-c', PROGRAM, 'forwarder', forwarderRules(spec)],
    User: '0:0',
    Labels: {
      [LABEL.cluster]: cluster,
      [LABEL.forwarder]: uid,
      [LABEL.forwarderHash]: hash,
      [LABEL.forwarderService]: `${namespace}/${name}`,
    },
    ExposedPorts: Object.fromEntries(ports.map((port) => [portKey(port), {}])),
    HostConfig: {
      NetworkMode: network,
      PortBindings: Object.fromEntries(
        ports.map((port) => [portKey(port), [{ HostIp: LOOPBACK, HostPort: String(port.hostPort) }]]),
      ),
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      PidsLimit: 16,
      Memory: 64 * 2 ** 20,
      RestartPolicy: { Name: 'always' },
      LogConfig: LOG_CONFIG,
      Sysctls: {
        'net.ipv4.ip_forward': '1',
        // Packets leave by the interface by which they arrived, so the kernel would send redirects.
        'net.ipv4.conf.all.send_redirects': '0',
        'net.ipv4.conf.default.send_redirects': '0',
      },
    },
  };
}

function portKey({ protocol, port }: ForwardedPort): string {
  return `${port}/${protocol}`;
}

/** The rules of a forwarder's network namespace: forward all ports to the target, except packets from pods, and drop everything else. */
export function forwarderRules({
  target,
  ports,
  closedRange,
}: Pick<ForwarderSpec, 'target' | 'ports' | 'closedRange'>): string {
  const translations = (['tcp', 'udp'] as const).flatMap((protocol) => {
    const numbers = ports.filter((port) => port.protocol === protocol).map(({ port }) => port);
    return numbers.length === 0 ? [] : [`    ${protocol} dport { ${numbers.join(', ')} } dnat to ${target}`];
  });
  return `table ip forwarder {
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    ip saddr ${closedRange} return
${translations.join('\n')}
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct status dnat accept
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ct status dnat masquerade
  }
}
`;
}
