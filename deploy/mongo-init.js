/* mongosh runs this script at every start of the stack. It creates the replica set and the user if they do not exist. */
const { readFileSync } = require('node:fs')
const secret = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim()
const rootPassword = secret('mongo-root.password')
const deadline = Date.now() + 120_000

function retry(description, attempt) {
  for (;;) {
    try {
      if (attempt()) return
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    if (Date.now() > deadline) throw new Error(`timed out after two minutes: ${description}`)
    sleep(1_000)
  }
}

const admin = db.getSiblingDB('admin')
// The health check succeeds before the root user exists.
retry('log in as root', () => admin.auth('root', rootPassword).ok === 1)

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
  retry('initiate the replica set', () => rs.initiate({ _id: 'rs0', members: configured }).ok === 1)
}

const members = 'mongo1:27017,mongo2:27017,mongo3:27017'
const tls = 'tls=true&tlsCAFile=/run/secrets/ca.crt'
const root = `mongodb://root:${encodeURIComponent(rootPassword)}@${members}/?replicaSet=rs0&authSource=admin&${tls}`
retry('create the transferd user', () => {
  const transferd = new Mongo(root).getDB('transferd')
  if (transferd.getUser('transferd') === null)
    transferd.createUser({ user: 'transferd', pwd: secret('mongo-transferd.password'), roles: ['readWrite'] })
  return true
})
