import { readFile } from 'node:fs/promises';
import { CONFIG_MAPS, connect, NODES, PODS, runOperator } from '@gantry/operator';
import { updateAgent } from './agent.ts';
import { agentSettings, ConfigError, operatorSettings, parseOsRelease } from './config.ts';
import { dockerHost } from './docker-host.ts';
import { NAMES } from './handshake.ts';
import { updateOperator } from './operator.ts';

const { argv, env } = process;
const port = Number(env['PORT'] ?? 8080);

async function runUpdateOperator(): Promise<void> {
  const settings = operatorSettings(env);
  const cluster = connect({ name: 'update-operator' });
  const slots = { namespace: cluster.namespace, name: 'update-operator-slots' };
  await runOperator({
    name: 'update-operator',
    cluster,
    leaderElection: {},
    http: { port },
    caches: [{ ...CONFIG_MAPS, namespace: slots.namespace, fieldSelector: `metadata.name=${slots.name}` }],
    controllers: [updateOperator({ ...settings, slots })],
  });
}

async function runUpdateAgent(): Promise<void> {
  const { node, gracePeriodMs, group, osRelease, socket, podUid } = agentSettings(env);
  const { id, version } = parseOsRelease(await readFile(osRelease, 'utf8'));
  const system = { [NAMES.id]: id, [NAMES.group]: group, [NAMES.version]: version };
  await runOperator({
    name: 'update-agent',
    http: { port },
    caches: [
      { ...NODES, fieldSelector: `metadata.name=${node}` },
      { ...PODS, fieldSelector: `spec.nodeName=${node}` },
    ],
    controllers: [updateAgent({ node, gracePeriodMs, system, host: dockerHost({ socket, node, podUid }) })],
  });
}

const [, , role = ''] = argv;
if (role === 'operator') await runUpdateOperator();
else if (role === 'agent') await runUpdateAgent();
else throw new ConfigError(`the first argument is "operator" or "agent", not ${JSON.stringify(role)}`);
