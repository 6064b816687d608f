import { useState } from 'react'
import { isMerchantRole, type Role, roles } from '../../../../../src/domain/user/permissions'
import type { ChangeRoleRequest } from '../../../../../src/http/dashboard/api'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { CheckboxGroup } from '../../components/Checkbox'
import { Select } from '../../components/Select'

interface RoleFieldsProps {
  readonly role?: Role
  readonly merchantIds?: readonly string[] | null
}

/** Chooses a role. Roles of merchants also need merchants; all other roles cover every merchant. */
export function RoleFields({ role: first = 'viewer', merchantIds }: RoleFieldsProps) {
  const text = useText()
  const { merchants } = useSession()
  const [role, setRole] = useState<Role>(first)
  return (
    <>
      <Select
        name="role"
        label={text('fields.role')}
        description={text(`users.roleHelp.${role}`)}
        options={roles.map((value) => ({ value, label: text(`common.role.${value}`) }))}
        value={role}
        onChange={(value) => setRole(roles.find((each) => each === value) ?? role)}
        required
      />
      {isMerchantRole(role) && (
        <CheckboxGroup
          name="merchantIds"
          label={text('fields.merchantIds')}
          options={merchants.map(({ merchantId, name }) => ({ value: merchantId, label: name }))}
          defaultValue={[...(merchantIds ?? [])]}
          required
        />
      )}
    </>
  )
}

export function roleOf(data: FormData): Omit<ChangeRoleRequest, 'revision'> {
  const role = roles.find((each) => each === data.get('role')) ?? 'viewer'
  return isMerchantRole(role) ? { role, merchantIds: data.getAll('merchantIds').map(String) } : { role }
}
