/** Runs the peers' database servers during a bench, each in a temporary directory. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort, waitUntil } from './bench-service.js'

interface DatabaseServer {
  readonly pid: number
  readonly version: string
  stop(): Promise<void>
}

interface PostgreSqlServer extends DatabaseServer {
  /** The connection options for `pg`. */
  readonly database: { readonly host: string; readonly port: number; readonly user: string; readonly database: string }
}

interface RedisServer extends DatabaseServer {
  /** The connection options for `ioredis`. */
  readonly redis: { readonly path: string }
}

const debianFolder = '/usr/lib/postgresql'

/** Returns the first folder with all programs, so that they have the same version: on PATH, or the newest of Debian's folders. */
function folderOf(...programs: string[]): string | undefined {
  const debian = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...debian.map((version) => join(debianFolder, version, 'bin')),
  ]
  return folders.find((folder) => programs.every((program) => existsSync(join(folder, program))))
}

/** Returns the user `nobody` when running as root, as which PostgreSQL refuses to run. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

function runningServer(child: ChildProcess, directory: string): Pick<DatabaseServer, 'pid' | 'stop'> {
  return {
    pid: child.pid!,
    async stop() {
      // With SIGINT, PostgreSQL ends immediately without waiting for its clients.
      child.kill('SIGINT')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** Starts PostgreSQL with Debian's defaults, including fsync. Returns `undefined` if it is not installed. */
export async function startPostgreSql(): Promise<PostgreSqlServer | undefined> {
  const folder = folderOf('initdb', 'postgres')
  if (folder === undefined) return undefined
  const [initdb, postgres] = [join(folder, 'initdb'), join(folder, 'postgres')]
  const as = unprivileged()
  const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-postgresql-'))
  if (as.uid !== undefined && as.gid !== undefined) chownSync(directory, as.uid, as.gid)
  const data = join(directory, 'data')
  execFileSync(initdb, ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'], { ...as, cwd: '/' })
  const port = await freePort()
  const child = spawn(postgres, ['-D', data, '-k', directory, '-h', '', '-p', String(port)], {
    ...as,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const status = join(data, 'postmaster.pid')
  await waitUntil(
    'PostgreSQL is ready',
    async () => existsSync(status) && /^ready\s*$/m.test(readFileSync(status, 'utf8')),
  )
  const version = execFileSync(postgres, ['--version'], { encoding: 'utf8' }).trim()
  const database = { host: directory, port, user: 'bench', database: 'postgres' }
  return { ...runningServer(child, directory), version, database }
}

/** Starts Redis so that every write is on disk before its response, as with transferd. Returns `undefined` if it is not installed. */
export async function startRedis(): Promise<RedisServer | undefined> {
  const folder = folderOf('redis-server')
  if (folder === undefined) return undefined
  const program = join(folder, 'redis-server')
  const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-redis-'))
  chmodSync(directory, 0o700)
  const path = join(directory, 'redis.sock')
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const child = spawn(program, [...durable, '--dir', directory, '--unixsocket', path, '--port', '0'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await waitUntil('Redis is ready', () => accepts(path))
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
  return { ...runningServer(child, directory), version, redis: { path } }
}
