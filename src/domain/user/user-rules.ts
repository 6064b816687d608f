/** The rules of users and their permissions. */
export const userRules = {
  'unknown-user': 'User not found.',
  'user-exists': 'This user already exists.',
  'user-disabled': 'The user is disabled.',
  'email-taken': 'This email address is already in use.',
  'second-administrator-needed':
    'Another administrator must confirm this: one who neither made the change nor is affected by it.',
  'last-administrator': 'This is the last administrator. Create another administrator first.',
  'second-factor-changed': 'The second factor has changed. Try again.',
  'second-factor-missing': 'Set up two-factor authentication first.',
  'code-used':
    'This code or a later one was already used. Wait until your app shows the next code, or use another recovery code.',
  'wrong-code': 'The code is wrong.',
  'role-for-all-merchants': 'The role {role} applies to all merchants, so name none.',
  'role-needs-merchants': 'The role {role} requires one or more merchants.',
  'permission-missing': 'This requires the permission {permission}.',
  'offer-missing': 'The offered second factor has expired. Start again.',
  'too-many-open': 'You can have at most {most} of these open at the same time.',
  'receipt-quota': 'Each user can upload {megabytes} MB of receipts per day. Enter a link instead, or wait.',
} as const
