// The server of both-eras.ts as a process.

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { bothEras } from './both-eras.ts';

serveStdio(bothEras);
