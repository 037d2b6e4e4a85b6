/** The certificate job, which Compose runs before all services: writes certificates, keys and tokens to one volume per role. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, systemRandom } from '@gantry/base';
import { readPkiConfig } from './config.ts';
import { openFolder } from './folder.ts';
import { formatKubeconfig } from './kubeconfig.ts';
import { runOneShot } from './one-shot.ts';

const config = readPkiConfig(process.env);
const report = (line: string) => process.stdout.write(`${line}\n`);

await runOneShot({ ...config, clock: systemClock, random: systemRandom, report });

if (config.kubeconfigFolder !== '') {
  const admin = (file: string) => readFile(join(config.root, 'admin', file), 'utf8');
  const text = formatKubeconfig({
    clusterId: config.clusterId,
    server: config.server,
    authority: await admin('ca.crt'),
    certificate: await admin('tls.crt'),
    key: await admin('tls.key'),
  });
  // The file gets the owner of its folder, the user.
  const owner = await stat(config.kubeconfigFolder);
  const folder = await openFolder(config.kubeconfigFolder, owner);
  if ((await folder.read('kubeconfig')) !== text) {
    await folder.write('kubeconfig', text, 'secret');
    report(`kubeconfig for ${config.server} written`);
  }
}
