// Runs in a pod: answers HTTP at 8080, and reads all that comes to 9090.
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';

createServer((_, response) => response.end('ok')).listen(8080, '0.0.0.0');
createTcpServer((socket) => socket.on('error', () => socket.destroy()).resume()).listen(9090, '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
