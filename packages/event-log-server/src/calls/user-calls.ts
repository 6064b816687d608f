import { randomUUID } from 'node:crypto'
import type {
  ChangePasswordReq,
  CreateReq,
  DeleteReq,
  DetailsReq,
  DetailsResp,
  DisableReq,
  EnableReq,
  ResetPasswordReq,
  UpdateReq,
} from '@eventstore/db-client/generated/users_pb.js'
import { type Server, type ServerWritableStream, status } from '@grpc/grpc-js'
import { admins } from '../access/access-control.js'
import type { IncomingCall } from '../access/authenticator.js'
import { type FoundUser, findUser, hashPassword, newSalt, type StoredUser, userStream } from '../access/stored-users.js'
import { accessDenied, CallError, unexpectedError } from '../wire/call-error.js'
import { users, usersServices } from '../wire/generated-protocol.js'
import { required, type ServerContext, streaming, unary, unaryFor } from './call-handlers.js'

const ticksPerMs = 10_000n
const ticksAt1970 = 621_355_968_000_000_000n
const maxTextLength = 256

type DetailsCall = ServerWritableStream<DetailsReq, DetailsResp>

/** Adds the service for users that are stored in the log. Only administrators create and change them. */
export function addUsers(server: Server, context: ServerContext): void {
  const { access } = context
  const asAdmin = <Request, Response>(handle: (request: Request) => Promise<Response>) =>
    unaryFor(context, [admins], async (request: Request) => {
      if (!context.isWritable) throw accessDenied()
      return handle(request)
    })
  const change = (login: string, changes: Partial<StoredUser>, type = '$UserUpdated') => {
    const found = requireUser(context, login)
    return write(context, { ...found.user, ...changes }, found.revision, type)
  }
  server.addService(usersServices.UsersService, {
    create: asAdmin((request: CreateReq) => create(context, request)),
    update: asAdmin(async (request: UpdateReq) => {
      const options = required(request.getOptions())
      const password = options.getPassword() === '' ? {} : await newPassword(options.getPassword())
      const groups = options.getGroupsList()
      await change(options.getLoginName(), { fullName: options.getFullName(), groups, ...password })
      return new users.UpdateResp()
    }),
    delete: asAdmin(async (request: DeleteReq) => {
      await change(required(request.getOptions()).getLoginName(), { disabled: true }, '$UserDeleted')
      return new users.DeleteResp()
    }),
    disable: asAdmin(async (request: DisableReq) => {
      await change(required(request.getOptions()).getLoginName(), { disabled: true })
      return new users.DisableResp()
    }),
    enable: asAdmin(async (request: EnableReq) => {
      await change(required(request.getOptions()).getLoginName(), { disabled: false })
      return new users.EnableResp()
    }),
    resetPassword: asAdmin(async (request: ResetPasswordReq) => {
      const options = required(request.getOptions())
      await change(options.getLoginName(), await newPassword(options.getNewPassword()))
      return new users.ResetPasswordResp()
    }),
    changePassword: unary(context, async (request: ChangePasswordReq, call: IncomingCall) => {
      const options = required(request.getOptions())
      const caller = await access.authenticate(call)
      // Check the caller first: the response must not reveal which users exist or let other users try passwords.
      if (!context.isWritable || caller?.login !== options.getLoginName()) throw accessDenied()
      const { user } = requireUser(context, caller.login)
      const isCorrect = (await hashPassword(options.getCurrentPassword(), user.salt)) === user.hash
      if (!isCorrect) throw accessDenied()
      await change(user.login, await newPassword(options.getNewPassword()))
      return new users.ChangePasswordResp()
    }),
    details: streaming(context, (call: DetailsCall) => details(context, call)),
  })
}

async function create(context: ServerContext, request: CreateReq) {
  const options = required(request.getOptions())
  const login = options.getLoginName()
  if (login === '' || login.length > maxTextLength || login.includes(':')) throw unexpectedError()
  if (findUser(context.store, login)) {
    const trailers = { exception: 'user-conflict', 'login-name': login }
    throw new CallError(status.ALREADY_EXISTS, 'The user already exists.', trailers)
  }
  const password = await newPassword(options.getPassword())
  const user = { login, fullName: options.getFullName(), groups: options.getGroupsList(), disabled: false, ...password }
  await write(context, user, undefined, '$UserCreated')
  return new users.CreateResp()
}

/** Sends a user's details to that user or to an administrator. */
async function details(context: ServerContext, call: DetailsCall): Promise<void> {
  const { access } = context
  const caller = await access.authenticate(call)
  const login = required(call.request.getOptions()).getLoginName()
  if (caller?.login !== login) access.requireGroup(caller, [admins])
  const { user, changedAtMs } = requireUser(context, login)
  const changed = new users.DetailsResp.UserDetails.DateTime()
  changed.setTicksSinceEpoch(`${BigInt(changedAtMs) * ticksPerMs + ticksAt1970}`)
  const found = new users.DetailsResp.UserDetails()
    .setLoginName(user.login)
    .setFullName(user.fullName)
    .setGroupsList([...user.groups])
    .setDisabled(user.disabled)
    .setLastUpdated(changed)
  call.write(new users.DetailsResp().setUserDetails(found))
}

function requireUser({ store }: ServerContext, login: string): FoundUser {
  const found = findUser(store, login)
  if (found) return found
  throw new CallError(status.NOT_FOUND, 'User not found.', { exception: 'user-not-found', 'login-name': login })
}

async function newPassword(password: string): Promise<{ salt: string; hash: string }> {
  const salt = newSalt()
  return { salt, hash: await hashPassword(password, salt) }
}

/** Appends at the revision that was read, so that one of two simultaneous changes is rejected. */
async function write(
  { store }: ServerContext,
  user: StoredUser,
  revision: number | undefined,
  type: string,
): Promise<void> {
  const event = {
    id: randomUUID(),
    type,
    isJson: true,
    data: Buffer.from(JSON.stringify(user)),
    metadata: new Uint8Array(0),
  }
  const expected = revision ?? store.reader.last(userStream(user.login))?.revision ?? 'no_stream'
  const { kind } = await store.append(userStream(user.login), expected, [event])
  if (kind !== 'ok') throw new CallError(status.ABORTED, 'The user was changed by a different call. Try again.')
}
