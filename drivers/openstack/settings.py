"""The files that the embedded OpenStack's services read, as texts; pure.

Services listen on one address of the node that runs them, which no interface that leaves the node has unless
there are further compute hosts. One worker each: the cloud serves one run. Passwords are given and never kept
here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from bmwg.drivers.machines import architecture
from bmwg.drivers.machines.guest_moves import DOWNTIME_LIMIT_MS

SERVICE_ADDRESS = "198.18.30.1"  # on the loopback of the node with the services
DATABASES = ("keystone", "glance", "placement", "nova_api", "nova_cell0", "nova", "neutron")
SERVICE_USERS = ("glance", "placement", "nova", "neutron")
ENDPOINTS = {  # service: type, name, URL
    "image": ("glance", f"http://{SERVICE_ADDRESS}:9292"),
    "placement": ("placement", f"http://{SERVICE_ADDRESS}:8778"),
    "compute": ("nova", f"http://{SERVICE_ADDRESS}:8774/v2.1"),
    "network": ("neutron", f"http://{SERVICE_ADDRESS}:9696"),
}
AUTH_URL = f"http://{SERVICE_ADDRESS}:5000/v3"
REGION = "RegionOne"
HOST = "cloud"  # the name of the compute host beside the services, whatever the node's is
STATE = "/var/lib/nova"  # of Nova, within its root: instances are below
_USER = "bmwg"  # of the data base and of the message queue
_SLOW_S = 300  # choice: what one service waits for another on a host that others use too
_SOCKET = "/run/mysqld/mysqld.sock"

MOVE_DOWNTIME_STEPS = 3  # the fewest that Nova takes
MOVE_DOWNTIME_MS = MOVE_DOWNTIME_STEPS * DOWNTIME_LIMIT_MS  # Nova begins with a step of it; docs/adr/0629
# of a server that has moved Nova tells Neutron twice, at once if memory came soon, and Neutron fails at the
# second where it has begun with the first (docs/adr/0629)
_ONE_AT_A_TIME: dict[str, object] = {"wsgi_default_pool_size": 1, "wsgi_keep_alive": "false"}
MOVE_MEBIOCTETS_PER_S = 16  # choice: by more, memory has moved before Nova can be told to use post-copy
MOVING_MODEL = architecture.own().model  # the CPU of a translated server that moves, named for all hosts
HOSTS_OWN_MODEL = "host"  # of one that is not translated: all hosts are this machine
QEMU_EVENTS = "qemu-events"  # the service that writes them down, where servers move

Sections = Mapping[str, Mapping[str, object]]


def _ini(sections: Sections) -> str:
    lines = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items()), ""]
    return "\n".join(lines)


def _database(name: str, password: str) -> dict[str, object]:
    return {
        "connection": f"mysql+pymysql://{_USER}:{password}@localhost/{name}?unix_socket={_SOCKET}&charset=utf8",
        "max_pool_size": 5,
    }


def _token(user: str, password: str) -> dict[str, object]:
    return {
        "auth_url": AUTH_URL,
        "auth_type": "password",
        "project_domain_name": "Default",
        "user_domain_name": "Default",
        "project_name": "service",
        "username": user,
        "password": password,
    }


def _middleware(user: str, password: str) -> dict[str, object]:
    return {
        **_token(user, password),
        "www_authenticate_uri": AUTH_URL,
        "memcached_servers": "127.0.0.1:11211",
        "service_token_roles_required": "true",
    }


def files(
    *,
    password: str,
    physical: Sequence[str],
    accelerator: str,
    token_s: int,
    layer2: str,
    cpus: Sequence[int],
    host: str = HOST,
    address: str = SERVICE_ADDRESS,
    moves: bool = False,
) -> dict[str, str]:
    """Return each file's text by its path. `physical` are the physical networks: each a NIC of that name.

    `host` is the compute host's name and `address` its own towards the services. `moves`: servers may move
    to it from another one, and back.

    `token_s` is how long a token is valid, `accelerator` `qemu` or `kvm`, `layer2` `linuxbridge` or
    `openvswitch`. Servers keep to `cpus` of the compute host (none: to any).
    """
    database = {name: _database(name, password) for name in DATABASES}
    neutron_client = {**_token("neutron", password), "region_name": REGION}
    lock = {"lock_path": "/run/lock"}
    mappings = ",".join(f"{name}:{name if layer2 == 'linuxbridge' else 'br-' + name}" for name in physical)
    queue = f"rabbit://{_USER}:{password}@{SERVICE_ADDRESS}:5672/"
    firewall = "iptables" if layer2 == "linuxbridge" else "openvswitch"
    nova: dict[str, Mapping[str, object]] = {
        "DEFAULT": {
            "my_ip": address,
            "state_path": STATE,
            "periodic_fuzzy_delay": 0,  # else up to 60 s until the compute host is found
            "use_stderr": "true",
            "transport_url": queue,
            "enabled_apis": "osapi_compute",
            "osapi_compute_listen": SERVICE_ADDRESS,
            "osapi_compute_workers": 1,
            "compute_driver": "libvirt.LibvirtDriver",
            "reserved_host_memory_mb": 0,
            "reserved_host_disk_mb": 0,
            "allow_resize_to_same_host": "true",
            "initial_cpu_allocation_ratio": 16.0,
            "vif_plugging_timeout": _SLOW_S,
            "rpc_response_timeout": _SLOW_S,
        },
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": _middleware("nova", password),
        "vnc": {"enabled": "false"},
        "spice": {"enabled": "false"},
        "glance": {"api_servers": ENDPOINTS["image"][1]},
        "placement": {**_token("placement", password), "region_name": REGION},
        "neutron": {**neutron_client, "service_metadata_proxy": "false"},
        "service_user": {"send_service_user_token": "true", **_token("nova", password)},
        "oslo_concurrency": lock,
        "compute": {"cpu_shared_set": ",".join(map(str, cpus))} if cpus else {},
        # a host that fetches a kernel for a move looks into it and refuses it; one that boots it does not
        "workarounds": {"disable_deep_image_inspection": "true"} if moves else {},
        "conductor": {"workers": 1},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 2},
        "libvirt": {
            "virt_type": accelerator,
            "cpu_mode": "none" if accelerator == "qemu" else "host-passthrough",
            "inject_partition": -2,
            "wait_soft_reboot_seconds": 5,
            **(_moving(address, accelerator) if moves else {}),
        },
    }
    return {
        "etc/hosts": f"127.0.0.1 localhost {host}\n",
        "etc/mysql/mariadb.conf.d/99-bmwg.cnf": _ini(
            {
                "mariadbd": {
                    "skip-networking": 1,
                    "innodb-flush-log-at-trx-commit": 0,
                    "innodb-buffer-pool-size": "64M",
                    "performance-schema": "OFF",
                    "max-connections": 300,
                }
            }
        ),
        "etc/rabbitmq/rabbitmq-env.conf": "NODENAME=rabbit@localhost\n"
        f"NODE_IP_ADDRESS={SERVICE_ADDRESS}\n"
        'SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none"\nexport ERL_EPMD_ADDRESS=127.0.0.1\n',
        # the queue's user is made when that first starts; `guest` may come from the loopback alone
        "etc/rabbitmq/rabbitmq.conf": f"default_user = {_USER}\ndefault_pass = {password}\n",
        "etc/keystone/keystone.conf": _ini(
            {
                "DEFAULT": {"use_stderr": "true"},
                "database": database["keystone"],
                "token": {"provider": "fernet", "expiration": token_s},
                "identity": {"password_hash_rounds": 4},
            }
        ),
        "etc/glance/glance-api.conf": _ini(
            {
                "DEFAULT": {"bind_host": SERVICE_ADDRESS, "workers": 1, "use_stderr": "true"},
                "database": database["glance"],
                "glance_store": {
                    "stores": "file",
                    "default_store": "file",
                    "filesystem_store_datadir": "/var/lib/glance/images",
                },
                "keystone_authtoken": _middleware("glance", password),
                "paste_deploy": {"flavor": "keystone"},
                "oslo_concurrency": lock,
            }
        ),
        "etc/placement/placement.conf": _ini(
            {
                "placement_database": database["placement"],
                "api": {"auth_strategy": "keystone"},
                "keystone_authtoken": _middleware("placement", password),
            }
        ),
        "etc/nova/nova.conf": _ini(
            {"api_database": database["nova_api"], "database": database["nova"], **nova}
        ),
        "etc/nova/nova-compute.conf": _ini(nova),  # it may not reach a data base
        "etc/neutron/neutron.conf": _ini(
            {
                "DEFAULT": {
                    "bind_host": SERVICE_ADDRESS,
                    "use_stderr": "true",
                    "core_plugin": "ml2",
                    "service_plugins": "",
                    "transport_url": queue,
                    "api_workers": 1,
                    "rpc_workers": 1,
                    "rpc_state_report_workers": 0,
                    **(_ONE_AT_A_TIME if moves else {}),
                    "notify_nova_on_port_status_changes": "true",
                    "agent_down_time": _SLOW_S,
                    "rpc_response_timeout": _SLOW_S,
                },
                "database": database["neutron"],
                "keystone_authtoken": _middleware("neutron", password),
                "nova": {**_token("nova", password), "region_name": REGION},
                "oslo_concurrency": lock,
                "experimental": {"linuxbridge": "true"},
                "agent": {"root_helper": "sudo /usr/bin/neutron-rootwrap /etc/neutron/rootwrap.conf"},
            }
        ),
        "etc/neutron/plugins/ml2/ml2_conf.ini": _ini(
            {
                "ml2": {
                    "type_drivers": "flat,vxlan",
                    "tenant_network_types": "vxlan",
                    "mechanism_drivers": layer2,
                    "extension_drivers": "port_security",
                },
                "ml2_type_flat": {"flat_networks": "*"},
                "ml2_type_vxlan": {"vni_ranges": "1:1000"},
            }
        ),
        "etc/neutron/bmwg-agent.ini": _ini(
            {
                "linux_bridge": {"physical_interface_mappings": mappings},
                "vxlan": {"enable_vxlan": "false"},
                "ovs": {"bridge_mappings": mappings, "datapath_type": "netdev", "local_ip": "127.0.0.1"},
                "agent": {"tunnel_types": "", "polling_interval": 1},
                "securitygroup": {"firewall_driver": firewall, "enable_ipset": "false"},
            }
        ),
        "etc/libvirt/libvirtd.conf": 'auth_unix_rw = "none"\nauth_unix_ro = "none"\n'
        'unix_sock_rw_perms = "0777"\nlog_outputs = "3:stderr"\n'
        + (_listening(host, address) if moves else ""),
        "etc/libvirt/qemu.conf": 'security_driver = "none"\ncgroup_controllers = [ ]\nnamespaces = [ ]\n'
        'user = "root"\ngroup = "root"\nstdio_handler = "file"\nremember_owner = 0\nmax_core = 0\n'
        # by post-copy QEMU handles page faults of the guest, which takes a capability
        + ("clear_emulator_capabilities = 0\n" if moves else ""),
    }


def _moving(address: str, accelerator: str) -> dict[str, object]:
    """What nova-compute is told of live migration: no disk is shared, memory comes to this address.

    A translated guest of QEMU's plain model has ended by a panic once it had moved, so one is named. The
    guest may be still for as long as one that QEMU alone moves, from the first on: where a translated one
    had to have less left to send, its memory came broken (docs/adr/0629).
    """
    model = {"cpu_mode": "custom", "cpu_models": MOVING_MODEL} if accelerator == "qemu" else {}
    return {
        **model,
        "live_migration_inbound_addr": address,
        "live_migration_permit_post_copy": "true",
        "live_migration_bandwidth": MOVE_MEBIOCTETS_PER_S,
        "live_migration_downtime": MOVE_DOWNTIME_MS,
        "live_migration_downtime_steps": MOVE_DOWNTIME_STEPS,
    }


def _listening(host: str, address: str) -> str:
    """What libvirt is told, so that another host's speaks to it. All hosts have this machine's UUID else."""
    own = uuid.uuid5(uuid.NAMESPACE_DNS, f"{host}.bmwg")
    return (
        f'listen_tls = 0\nlisten_tcp = 1\nlisten_addr = "{address}"\nauth_tcp = "none"\nhost_uuid = "{own}"\n'
    )


EVENTS = """
import json
import libvirt, libvirt_qemu
def said(connection, domain, event, seconds, micros, details, opaque):
    line = {"server": domain.UUIDString(), "event": event, "at_us": seconds * 1000000 + micros}
    print(json.dumps({**line, "details": json.loads(details or "{}")}), flush=True)
def done(connection, domain, figures, opaque):
    print(json.dumps({"server": domain.UUIDString(), "event": "JOB", "details": figures}), flush=True)
libvirt.virEventRegisterDefaultImpl()
connection = libvirt.open("qemu:///system")
libvirt_qemu.qemuMonitorEventRegister(connection, None, None, said, None, 0)
connection.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, done, None)
while True:
    libvirt.virEventRunDefaultImpl()
"""

REGISTRATION = """
import json, sys
import openstack
given = json.load(sys.stdin)
cloud = openstack.connection.Connection(
    auth_url=given["auth_url"], username="admin", password=given["password"], project_name="admin",
    user_domain_name="Default", project_domain_name="Default", region_name=given["region"],
    identity_api_version="3")
identity = cloud.identity
project = identity.create_project(name="service", domain_id="default")
admin = identity.find_role("admin")
service = identity.find_role("service") or identity.create_role(name="service")
for user in given["users"]:
    made = identity.create_user(name=user, password=given["password"], domain_id="default",
                                default_project_id=project.id)
    for role in (admin, service):
        identity.assign_project_role_to_user(project, made, role)
for kind, (name, url) in given["endpoints"].items():
    made = identity.create_service(type=kind, name=name)
    for interface in ("public", "internal", "admin"):
        identity.create_endpoint(service_id=made.id, interface=interface, url=url,
                                 region_id=given["region"])
"""
