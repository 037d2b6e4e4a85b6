/**
 * The console: a page that shows a cluster, for the user who signs in there. It has no right of its own: it passes each request of the page
 * on to the API server with the credential that the user gave.
 *
 * - `config`, `run-console`: settings and parts of the process
 * - `server`: routes, in the order of their checks
 * - `guard`: pure: whose requests are refused before anything else, and the headers of responses
 * - `sessions`, `one-time-links`: who has signed in, in memory alone
 * - `sign-in`: `/session`; `api-server`: what a sign-in asks the API server
 * - `pass-on`: `/kubernetes`, with streams and WebSockets
 * - `pages`: the files of the front end, which `web` is built into
 */
import { runMain } from '@gantry/service';
import { readConsoleConfig } from './config.ts';
import { runConsole } from './run-console.ts';

await runMain(() => runConsole(readConsoleConfig()));
