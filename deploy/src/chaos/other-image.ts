import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import type { Project } from '../cluster/compose.ts';
import { rollingUpdate } from '../rolling-update/rolling-update.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { CommandError } from '../machine/command-error.ts';
import type { ChaosEngine } from './engine.ts';
import { chaosFolder } from './journal.ts';

const CONFIG_HASH = 'com.docker.compose.config-hash';
/** Services that run the image of the cluster's own services. */
const OWN_SERVICES = ['apiserver', 'scheduler', 'controller-manager', 'dns', 'ingress', 'agent', 'pod-egress', 'proxy'];

/** Replaces the services one after the other by those of another image, as `npm run up` does; undefined: of the cluster's own image. */
export async function rollTo(opened: OpenCluster, image: string | undefined, connect: () => HttpClient): Promise<void> {
  const { clusterId, config, shell } = opened;
  const { podCidr } = mustReadSettings(config);
  const project = image === undefined ? opened.project : withImage(opened, OWN_SERVICES, image);
  using api = connect();
  await rollingUpdate({ clusterId, podCidr, project, shell, clock: systemClock, api, note: () => undefined });
}

/** Throws CommandError if the checkout has changed since `up`: replacing services would then change more than their image. */
export async function requireUnchanged({ project }: OpenCluster, engine: ChaosEngine): Promise<void> {
  const lines = (await project.compose(['config', '--hash', '*'])).split('\n');
  const hashes = new Map(lines.map((line) => line.split(' ') as [string, string]));
  const changed = (await engine.services()).filter(
    ({ service, labels }) => OWN_SERVICES.includes(service) && hashes.get(service) !== labels[CONFIG_HASH],
  );
  const [first] = changed;
  if (first !== undefined) throw new CommandError(`${first.name} is not as the checkout describes it`, 'npm run up');
}

/** The project of a cluster whose services have another image. */
export function withImage({ config, project }: OpenCluster, services: readonly string[], image: string): Project {
  const file = join(chaosFolder(config), 'other-image.json');
  mkdirSync(chaosFolder(config), { recursive: true });
  writeFileSync(
    file,
    JSON.stringify({ services: Object.fromEntries(services.map((service) => [service, { image }])) }),
  );
  return { ...project, compose: (args, onLine) => project.compose(['-f', file, ...args], onLine) };
}
