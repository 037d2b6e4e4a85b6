// What `npm run dev` starts, and starts again when a file changes: brings the kinds of the cluster up to date, then runs the controller.
import { execFileSync } from 'node:child_process';
// Imported here, so that `node --watch` sees its files also while one of them has an error.
import './operator.ts';

const manifests = execFileSync(process.execPath, ['src/manifests.ts', 'Namespace', 'CustomResourceDefinition']);
execFileSync('kubectl', ['apply', '-f', '-'], { input: manifests, stdio: ['pipe', 'inherit', 'inherit'] });
await import('./main.ts');
