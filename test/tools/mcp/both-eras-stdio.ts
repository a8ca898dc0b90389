// Runs the server of both-eras.ts as a process on its standard streams.

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { bothEras } from './both-eras.ts';

serveStdio(bothEras);
