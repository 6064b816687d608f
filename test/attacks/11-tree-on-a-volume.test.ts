import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'

interface Service {
  readonly volumes?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly environment: { readonly [name: string]: string }
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  readonly services: { readonly [name: string]: Service }
  readonly volumes: { readonly [name: string]: unknown }
}
const dockerfile = readFileSync('Dockerfile', 'utf8')
const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith('transferd'))

/** Returns the named volume that is mounted at a path or above it, or `undefined`. */
function volumeAt({ volumes = [] }: Service, path: string): string | undefined {
  const mounts = volumes.map((each) => each.split(':') as [string, string])
  return mounts.find(([, target]) => path === target || path.startsWith(`${target}/`))?.[0]
}

t.test('the tree and its key are on a volume of each node, and the copy is on a different one', async (t) => {
  t.ok(nodes.length > 1)
  const treeVolumes = new Set<string>()
  for (const [name, service] of nodes) {
    // The engine does not matter here: the directories are those of the image.
    const { AUDIT_COPY_TO } = service.environment
    const configuration = readConfiguration({ AUDIT_COPY_TO, EVENT_STORE_URL: 'embedded:/data' })
    const tree = volumeAt(service, configuration.audit.directory)
    t.ok(tree && tree in compose.volumes, `${name}: the tree`)
    t.equal(volumeAt(service, `${configuration.dataDirectory}/audit.key`), tree)
    for (const path of service.tmpfs ?? [])
      t.notOk(
        configuration.audit.directory.startsWith(path.split(':')[0]!),
        `${name}: ${path} is lost with the container`,
      )
    t.match(configuration.audit.copyTo, { kind: 'directory' })
    const copy = volumeAt(service, AUDIT_COPY_TO!)
    t.ok(copy && copy in compose.volumes, `${name}: the copy`)
    t.not(copy, tree)
    const created = /install --directory --owner=node [^\n]* \/data \/audit-copy$/m
    t.match(dockerfile, created, 'the image creates the directories for its user, because it runs without capabilities')
    treeVolumes.add(tree!)
  }
  t.equal(treeVolumes.size, nodes.length, 'no two nodes write the same tree')
})
