import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { parseConnectionUrl } from '../src/event-store/eventstoredb/eventstoredb-url.js'
import { environmentSchema, readConfiguration } from '../src/operations/configuration/configuration.js'

interface Service {
  readonly image?: string
  readonly build?: string
  readonly profiles?: readonly string[]
  readonly environment?: { readonly [name: string]: string }
  readonly depends_on?: { readonly [service: string]: { readonly condition: string; readonly required?: boolean } }
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly networks?: readonly string[] | { readonly [network: string]: { readonly ipv4_address: string } }
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly restart?: string
  readonly mem_limit?: string
  readonly secrets?: readonly (string | { readonly source: string })[]
  readonly pids_limit?: number
}

interface Compose {
  readonly services: { readonly [name: string]: Service }
  readonly networks: {
    readonly [name: string]: { readonly internal?: boolean; readonly ipam: { config: { subnet: string }[] } }
  }
  readonly volumes: { readonly [name: string]: null }
  readonly secrets: { readonly [name: string]: { readonly file: string } }
}

const text = readFileSync('docker-compose.yml', 'utf8')
const { services, networks, volumes, secrets } = parse(text, { merge: true }) as Compose
const dockerfile = readFileSync('Dockerfile', 'utf8')
const example = readFileSync('.env.example', 'utf8')
const all = Object.entries(services)
const nodes = all.filter(([name]) => name.startsWith('transferd'))
const pinned = /^[a-z0-9./-]+:\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/

/** Returns the variables that the text reads from .env, and whether compose requires them. */
function variables(text: string): Map<string, 'required' | 'optional'> {
  const found = [...text.matchAll(/(?<!\$)\$\{([A-Z_]+)(:\?[^}]+|:-[^}]*)?\}/g)]
  return new Map(found.map(([, name = '', rest]) => [name, rest?.startsWith(':?') ? 'required' : 'optional']))
}

/** The environment variables that the image sets for transferd. */
const imageDefaults = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV)? +([A-Z_]+)=(\S+)/gm)].flatMap(([, name = '', value = '']) =>
    name === 'NODE_ENV' ? [] : [[name, value]],
  ),
)

function matchesGlob(name: string, pattern: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`).test(name)
}

/** Returns the variables that are set both directly and as a file. transferd rejects that. */
function setTwice(environment: { readonly [name: string]: string | undefined }): string[] {
  return Object.keys(environment).filter((name) => environment[name] && environment[`${name}_FILE`])
}

/** Substitutes the variables in a value as compose does. */
function substituted(value: string, values: { readonly [name: string]: string }): string {
  return value.replace(
    /(?<!\$)\$\{([A-Z_]+)(?::[?-]([^}]*))?\}/g,
    (_, name: string, rest: string) => values[name] ?? rest,
  )
}

t.test('the image unpacks the package of the service in any version, and no other package', async (t) => {
  const [, pattern = ''] = /tar -xzf \/tmp\/packages\/(\S+)/.exec(dockerfile) ?? []
  for (const version of ['0.1.0', '1.0.0', '12.3.4']) {
    t.ok(matchesGlob(`transferd-${version}.tgz`, pattern), version)
    for (const name of [...readdirSync('packages'), 'client'])
      t.notOk(matchesGlob(`transferd-${name}-${version}.tgz`, pattern), name)
  }
})

t.test('every image is pinned to a version, and both build stages and both nodes use the same image', async (t) => {
  for (const [name, { image }] of all) t.match(image, pinned, name)
  const froms = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  t.equal(froms.length, 2, 'one stage builds and one runs')
  t.equal(new Set(froms).size, 1)
  t.match(froms[0], pinned)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  for (const [, { image, build }] of nodes) t.same({ image, build }, { image: `transferd:${version}`, build: '.' })
})

t.test('no container can use all memory or all processes of the host', async (t) => {
  for (const [name, { mem_limit, pids_limit }] of all)
    t.match({ mem_limit, pids_limit }, { mem_limit: /^\d+[mg]$/, pids_limit: Number }, name)
  t.match(dockerfile, /--memory \d+g --pids-limit \d+/)
})

t.test('the image uses an LTS release of Node', async (t) => {
  const major = Number(/^FROM node:(\d+)\./m.exec(dockerfile)?.[1])
  t.ok(major >= 24 && major % 2 === 0, `${major}`)
})

t.test('neither the files nor the environment of a container contains a secret', async (t) => {
  const secret = /(PASSWORD|SECRET|TOKEN|KEY)$/
  for (const [name, { environment = {} }] of all) {
    for (const [variable, value] of Object.entries(environment)) {
      t.notMatch(variable, secret, `${name}: anyone who can inspect a container sees its environment`)
      t.notMatch(value, /:\/\/[^/]*@/, `${name} ${variable}`)
    }
  }
  const given = new Map([...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
  for (const [name, need] of variables(text)) {
    t.ok(given.has(name), `.env.example lists ${name}`)
    t.notMatch(name, secret)
    if (given.get(name) === '') t.equal(need, 'required', name)
  }
  const unused = [...given.keys()].filter((name) => !variables(text).has(name) && name !== 'COMPOSE_PROFILES')
  t.same(unused, [])
  for (const line of [/^\.env$/m, /^deploy\/secrets\/$/m]) t.match(readFileSync('.gitignore', 'utf8'), line)
  t.match(
    readFileSync('.dockerignore', 'utf8'),
    /^\*\n(!(?!\.env|data)\S+\n)+$/,
    'only listed files are copied to the image',
  )
})

const withoutOpenssl =
  spawnSync('openssl', ['version']).status !== 0 && 'openssl is not installed, so the test cannot create certificates'

/** Runs deploy/make-secrets and returns the created files, with paths on this machine. */
function createSecrets(t: Test, profile: string) {
  const directory = t.testdir()
  const { status, stderr } = spawnSync('deploy/make-secrets', [profile, directory], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const file = (name: string) => readFileSync(join(directory, name), 'utf8')
  const url = (name: string) => file(name).trim().replaceAll('/run/secrets', directory)
  return { directory, file, url }
}

t.test(
  'make-secrets creates every mounted secret, and transferd accepts the result',
  { skip: withoutOpenssl },
  async (t) => {
    t.equal(nodes.length, 2)
    for (const profile of ['single', 'cluster']) {
      await t.test(profile, async (t) => {
        const { directory, file, url } = createSecrets(t, profile)
        t.equal(statSync(directory).mode & 0o777, 0o700)
        for (const [name, { file }] of Object.entries(secrets)) {
          t.equal(file, `./deploy/secrets/${name}`)
          t.ok(statSync(join(directory, name)).size > 0, name)
        }
        for (const [name, { secrets: mounted = [] }] of all)
          for (const secret of mounted)
            t.ok((typeof secret === 'string' ? secret : secret.source) in secrets, `${name} ${secret}`)
        for (const [name, { environment = {} }] of nodes) {
          const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'))
          t.same(
            files.map(([variable, path]) => [variable, path]),
            [
              ['EVENT_STORE_URL_FILE', '/run/secrets/event-store.url'],
              ['READ_MODEL_URL_FILE', '/run/secrets/read-model.url'],
              ['KEY_STORE_URL_FILE', '/run/secrets/read-model.url'],
              ['TRANSFERD_MASTER_KEY_FILE', '/run/secrets/master.key'],
            ],
            name,
          )
          for (const variable of Object.keys(environment))
            t.ok(variable.replace(/_FILE$/, '') in environmentSchema.properties, `${name} ${variable}`)
          const plain = Object.entries(environment).filter(([variable]) => !variable.endsWith('_FILE'))
          // The container's environment also contains the defaults of the image.
          t.same(setTwice({ ...imageDefaults, ...environment }), [], name)
          const configuration = readConfiguration({
            ...imageDefaults,
            ...Object.fromEntries(
              plain.map(([variable, value]) => [
                variable,
                substituted(value, { PUBLIC_URL: 'https://pay.example.com' }),
              ]),
            ),
            EVENT_STORE_URL: url('event-store.url'),
            READ_MODEL_URL: url('read-model.url'),
            TRANSFERD_MASTER_KEY_FILE: join(directory, 'master.key'),
          })
          t.match(configuration, {
            sandbox: 'off',
            eventStore: { engine: 'eventstoredb' },
            readModels: { engine: 'mongodb' },
          })
          t.same(configuration.masterKey, {
            from: 'environment',
            keys: [Buffer.from(file('master.key').trim(), 'hex')],
          })
          t.same(configuration.trustedProxies, [addressOf(services.caddy!, 'edge')], 'trusts only the proxy')
        }
        const { endpoints, tls, tlsCaFile } = parseConnectionUrl(url('event-store.url'))
        t.same({ tls, tlsCaFile }, { tls: true, tlsCaFile: join(directory, 'ca.crt') })
        const authority = new X509Certificate(file('ca.crt'))
        const log = new X509Certificate(file('eventstore.crt'))
        for (const { address } of endpoints) t.ok(log.checkHost(address), address)
        const cluster = ['eventstore1', 'eventstore2', 'eventstore3']
        for (const name of cluster) t.ok(log.checkIP(addressOf(services[name]!, 'stores')!), name)
        t.match(url('read-model.url'), /[?&]tls=true&tlsCAFile=/)
        const documents = new X509Certificate(file('mongo.pem'))
        for (const name of ['mongo1', 'mongo2', 'mongo3', 'localhost']) t.ok(documents.checkHost(name), name)
        for (const certificate of [log, documents]) t.ok(certificate.verify(authority.publicKey))
        const before = file('master.key')
        spawnSync('deploy/make-secrets', [profile, directory])
        t.equal(file('master.key'), before, 'a second run keeps the key')
      })
    }
  },
)

t.test('transferd accepts the defaults of the image, and stores all data in its volume by default', async (t) => {
  t.same(Object.keys(imageDefaults), ['HOST', 'PORT', 'SANDBOX'])
  t.match(readConfiguration(imageDefaults), { host: '0.0.0.0', port: 3000, sandbox: 'off' })
  const [, workingDirectory = ''] = /^WORKDIR (\S+)$/m.exec(dockerfile.split(/^FROM .*$/m)[2]!) ?? []
  const [, volume] = /^VOLUME (\S+)$/m.exec(dockerfile) ?? []
  for (const name of ['EVENT_STORE_URL', 'READ_MODEL_URL', 'DATA_DIRECTORY'] as const)
    t.equal(
      resolve(workingDirectory, environmentSchema.properties[name].default.replace('embedded:', '')),
      volume,
      name,
    )
})

t.test(
  'each profile starts the EventStoreDB nodes in its URL, and every awaited service has a health check',
  async (t) => {
    for (const profile of ['single', 'cluster']) {
      const started = all.filter(([, { profiles }]) => !profiles || profiles.includes(profile)).map(([name]) => name)
      const [, log = ''] =
        new RegExp(`^  ${profile}\\) log=(\\S+) ;;$`, 'm').exec(readFileSync('deploy/make-secrets', 'utf8')) ?? []
      const hosts = [...log.matchAll(/([a-z0-9]+):2113/g)].map(([, host]) => host)
      t.same(
        started.filter((name) => name.startsWith('eventstore')),
        hosts,
        profile,
      )
      for (const [name, { depends_on = {} }] of all.filter(([name]) => started.includes(name))) {
        for (const [awaited, { condition, required }] of Object.entries(depends_on)) {
          t.ok(started.includes(awaited) || required === false, `${profile}: ${name} waits for ${awaited}`)
          if (condition !== 'service_healthy') continue
          const { healthcheck, build } = services[awaited]!
          t.ok(healthcheck || build, `${awaited} has a health check`)
        }
      }
      for (const name of hosts)
        t.ok(
          nodes.every(([, { depends_on }]) => depends_on?.[name!]),
          `waits for ${name}`,
        )
    }
    const cluster = ['eventstore1', 'eventstore2', 'eventstore3'].map((name) => services[name]!)
    const addresses = cluster.map((service) => addressOf(service, 'stores'))
    for (const [n, { environment }] of cluster.entries()) {
      t.equal(environment?.EVENTSTORE_REPLICATION_IP, addresses[n])
      const others = addresses.filter((address) => address !== addresses[n]).map((address) => `${address}:2113`)
      t.equal(environment?.EVENTSTORE_GOSSIP_SEED, others.join())
    }
  },
)

t.test('only the proxy is reachable from outside, and the stores have no access to other networks', async (t) => {
  t.same(
    all.filter(([, { ports }]) => ports).map(([name]) => name),
    ['caddy'],
  )
  t.equal(networks.stores?.internal, true)
  for (const [name, service] of all) {
    const joined = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {})
    const expected = name === 'caddy' ? ['edge'] : name.startsWith('transferd') ? ['edge', 'stores'] : ['stores']
    t.same(joined, expected, name)
    for (const network of joined) {
      const subnet = networks[network]!.ipam.config[0]!.subnet.replace(/0\/24$/, '')
      const address = addressOf(service, network)
      if (address) t.ok(address.startsWith(subnet), `${name} ${address}`)
    }
  }
})

t.test('every store keeps its data in its own volume, and every mounted file exists', async (t) => {
  const mounted = all.flatMap(([name, { volumes = [] }]) =>
    volumes.map((volume) => ({ name, source: volume.split(':')[0]! })),
  )
  for (const { source, name } of mounted.filter(({ source }) => source.startsWith('.')))
    t.ok(existsSync(source), `${name} ${source}`)
  const named = mounted.map(({ source }) => source).filter((source) => !source.startsWith('.'))
  const [copies, others] = [
    named.filter((name) => name === 'audit-copy'),
    named.filter((name) => name !== 'audit-copy'),
  ]
  t.equal(copies.length, nodes.length, 'the node that seals writes the copy of the tree')
  t.same([...new Set(copies), ...others].sort(), Object.keys(volumes).sort(), 'each other volume is mounted once')
  for (const [name] of all.filter(([name]) => /^(eventstore\d?|mongo\d)$/.test(name)))
    t.ok(
      mounted.some((mount) => mount.name === name && !mount.source.startsWith('.')),
      name,
    )
})

t.test('the image runs as an unprivileged user, contains no build tools and reports whether it is ready', async (t) => {
  const [, run = ''] = dockerfile.split(/^FROM .*$/m).slice(1)
  t.match(run, /^USER node$/m)
  t.notMatch(run, /apt-get|npm/)
  t.match(dockerfile, /npm ci .*--ignore-scripts/)
  t.match(
    dockerfile,
    /cp package-lock\.json \/app\/[\s\S]*npm install .*--omit=dev/,
    'the image has the versions of the lockfile',
  )
  t.match(run, /^HEALTHCHECK[\s\S]*\/health\/ready/m)
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { build: string } }
  const included = readFileSync('.dockerignore', 'utf8').split('\n')
  const sources = scripts.build.split(/[\s&]+/).filter((word) => existsSync(word) && !word.startsWith('dist/'))
  t.ok(sources.length > 0)
  for (const file of sources) t.ok(included.includes(`!${file.split('/')[0]}`), `the build finds ${file}`)
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: { transferd: string } }
  t.ok(run.includes(`"/app/${bin.transferd}"]\nCMD ["serve"]`), 'starts the program that package.json names')
  const caddy = readFileSync('deploy/Caddyfile', 'utf8')
  for (const [name] of nodes) t.match(caddy, `${name}:3000`)
  t.match(caddy, 'health_uri /health/ready')
  t.match(readFileSync('src/http/server/observability.ts', 'utf8'), "app.get('/health/ready'")
})

t.test('the health check succeeds only while the service is ready', async (t) => {
  const [, script = ''] = /CMD \["node", "-e", "(.*)"\]/.exec(dockerfile) ?? []
  let status = 200
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/health/ready' ? status : 404).end(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const exit = async () => {
    const child = spawn(process.execPath, ['-e', script], { env: { PORT: String(port) }, stdio: 'ignore' })
    return (await once(child, 'exit'))[0]
  }
  t.equal(await exit(), 0)
  status = 503
  t.equal(await exit(), 1)
  server.close()
  await once(server, 'close')
  t.equal(await exit(), 1)
})

function addressOf({ networks = [] }: Service, network: string): string | undefined {
  return 'length' in networks
    ? undefined
    : (networks as { [name: string]: { ipv4_address: string } })[network]?.ipv4_address
}
