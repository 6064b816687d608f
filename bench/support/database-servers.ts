/** The peers' database servers, each for the time of a bench in a directory of its own. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort, until } from './bench-service.js'

export interface DatabaseServer {
  readonly pid: number
  readonly version: string
  stop(): Promise<void>
}

export interface PostgreSqlServer extends DatabaseServer {
  /** As `pg` takes it. */
  readonly database: { readonly host: string; readonly port: number; readonly user: string; readonly database: string }
}

export interface RedisServer extends DatabaseServer {
  /** As `ioredis` takes it. */
  readonly redis: { readonly path: string }
}

const debianFolder = '/usr/lib/postgresql'

/** The first folder that has all of them, so of one version: on PATH, or where Debian keeps what is not meant for it, the newest. */
function folderOf(...programs: string[]): string | undefined {
  const debian = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...debian.map((version) => join(debianFolder, version, 'bin')),
  ]
  return folders.find((folder) => programs.every((program) => existsSync(join(folder, program))))
}

/** PostgreSQL refuses to run as root: then it runs as nobody. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

function started(child: ChildProcess, directory: string): Pick<DatabaseServer, 'pid' | 'stop'> {
  return {
    pid: child.pid!,
    async stop() {
      // PostgreSQL ends at once, without waiting for its clients.
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

/** Debian's defaults, fsync among them. Undefined where PostgreSQL is not installed. */
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
  await until('PostgreSQL is ready', async () => existsSync(status) && /^ready\s*$/m.test(readFileSync(status, 'utf8')))
  const version = execFileSync(postgres, ['--version'], { encoding: 'utf8' }).trim()
  const database = { host: directory, port, user: 'bench', database: 'postgres' }
  return { ...started(child, directory), version, database }
}

/** Every write is on disk before it is answered, as transferd's are. Undefined where Redis is not installed. */
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
  await until('Redis is ready', () => accepts(path))
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
  return { ...started(child, directory), version, redis: { path } }
}
