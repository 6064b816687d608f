/* Run by mongosh, again whenever the stack is started: makes only what is not there. */
const { readFileSync } = require('node:fs')
const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim()
const rootPassword = secret('mongo-root.password')
const deadline = Date.now() + 120_000

function eventually(what, attempt) {
  for (;;) {
    try {
      if (attempt()) return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    if (Date.now() > deadline) throw new Error(`${what} did not come about within two minutes`)
    sleep(1_000)
  }
}

const admin = db.getSiblingDB('admin')
// The health check answers before the root user is made.
eventually('the root user', () => admin.auth('root', rootPassword).ok === 1)

function isInitiated() {
  try {
    return rs.status().ok === 1
  } catch (error) {
    if (error.codeName === 'NotYetInitialized') return false
    throw error
  }
}

if (!isInitiated()) {
  const configured = ['mongo1', 'mongo2', 'mongo3'].map((host, _id) => ({ _id, host: `${host}:27017` }))
  eventually('the replica set', () => rs.initiate({ _id: 'rs0', members: configured }).ok === 1)
}

const members = 'mongo1:27017,mongo2:27017,mongo3:27017'
const tls = 'tls=true&tlsCAFile=/run/secrets/ca.crt'
const root = `mongodb://root:${encodeURIComponent(rootPassword)}@${members}/?replicaSet=rs0&authSource=admin&${tls}`
eventually('transferd’s user', () => {
  const transferd = new Mongo(root).getDB('transferd')
  if (transferd.getUser('transferd') === null)
    transferd.createUser({ user: 'transferd', pwd: secret('mongo-transferd.password'), roles: ['readWrite'] })
  return true
})
