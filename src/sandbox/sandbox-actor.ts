/** Who registers the sandbox's merchants and makes its users, and nobody else. */
export const sandboxActor = 'system:sandbox'
