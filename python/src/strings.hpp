// Texts of Python as std::string: every one of them, where nanobind's own caster refuses some as no string at all.
// Bytes that are no UTF-8, which Python keeps as lone surrogates in arguments and names of files, are those bytes
// again. Included instead of nanobind/stl/string.h.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace laneway::python {

/// UTF-8 of any str, but for the bytes that are none.
inline nanobind::bytes encoded(nanobind::handle text) {
    PyObject* bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
    if (bytes == nullptr) {  // surrogates that stand for no byte
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace");
    }
    if (bytes == nullptr) throw nanobind::python_error();
    return nanobind::steal<nanobind::bytes>(bytes);
}

}  // namespace laneway::python

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<std::string> {
    NB_TYPE_CASTER(std::string, const_name("str"))

    bool from_python(handle given, auto, cleanup_list*) noexcept {
        if (!PyUnicode_Check(given.ptr())) return false;
        Py_ssize_t size = 0;
        if (const char* const letters = PyUnicode_AsUTF8AndSize(given.ptr(), &size)) {
            value.assign(letters, static_cast<std::size_t>(size));
            return true;
        }
        PyErr_Clear();
        try {
            const bytes text = laneway::python::encoded(given);
            value.assign(text.c_str(), text.size());
            return true;
        } catch (...) {
            PyErr_Clear();
            return false;
        }
    }

    static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
        return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
