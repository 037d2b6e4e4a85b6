#!/usr/bin/env node
import { runCli } from '../bundle/cli.mjs';

process.exitCode = await runCli(process.argv.slice(2));
