/**
 * `npm run conformance:own-host`: the official conformance program on a Docker engine beside this machine's, in namespaces of its own. There,
 * the first process may be entered by privileged containers and `/` is mounted shared, as the program expects of a node; this machine may
 * forbid the one and not do the other. The arguments are those of `npm run conformance:official`.
 */
import { join, resolve } from 'node:path';
import { HostLab } from './host-lab.ts';
import { conformanceImages, listedImages, serviceImages } from './lab-images.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Not that of the hosts' tests or of the engine matrix. */
const NUMBER = 7;
const BRIDGE = '10.231.200.1/24';

await using lab = await HostLab.create(NUMBER, { bridge: BRIDGE, processes: 'own' });
await lab.load([...(await serviceImages(ROOT)), ...(await listedImages(ROOT)), ...(await conformanceImages(ROOT))]);
process.exitCode = await lab.runInside(join(ROOT, 'deploy/bin/conformance-official'), process.argv.slice(2), {});
